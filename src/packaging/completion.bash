# completion.bash - bash completion of muster: every word comes from the program itself (muster COMMAND --complete)
# shellcheck shell=bash

# Installed as share/bash-completion/completions/muster; without that package, a line of ~/.bashrc reads it:
#   . /usr/share/bash-completion/completions/muster
# No answer leaves the word as it is: a program that is too old, or that cannot start, is silent here.

_muster() {
	local word=${COMP_LINE:0:COMP_POINT} words line breaks cut files=''
	read -ra words <<<"$word"
	[[ $word == *[[:space:]] ]] && words+=('')
	((${#words[@]} > 1)) || return 0
	word=${words[-1]}
	if ((${#words[@]} == 2)); then
		words=(--complete "$word")
	else
		words=("${words[1]}" --complete "${words[@]:2}")
	fi
	# readline replaces only what stands behind the last of these characters, and the @ with it
	breaks=${COMP_WORDBREAKS//[^=:@]/} cut=
	[[ -n $breaks ]] && cut=${word%"${word##*["$breaks"]}"}
	cut=${cut%@}
	compopt +o default 2>/dev/null
	COMPREPLY=()
	while IFS= read -r line; do
		case $line in
		:files) files=default ;;
		:directories) files=dirnames ;;
		*)
			line=${line%%$'\t'*}
			[[ $line != *[=/@] ]] || compopt -o nospace 2>/dev/null
			COMPREPLY+=("${line#"$cut"}")
			;;
		esac
	done < <("$1" "${words[@]}" 2>/dev/null)
	[[ -z $files ]] || compopt -o "$files" 2>/dev/null # readline's own, where no word fits
}
complete -F _muster muster
