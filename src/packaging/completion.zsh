#compdef muster
# completion.zsh - zsh completion of muster: every word comes from the program itself (muster COMMAND --complete)
#
# Installed as _muster in a directory of $fpath.

_muster() {
	local -a words_before plain open plain_shown open_shown
	local line word shown files=''
	if ((CURRENT == 2)); then
		words_before=(--complete "$PREFIX")
	else
		words_before=("$words[2]" --complete "${(@)words[3,CURRENT-1]}" "$PREFIX")
	fi
	while IFS= read -r line; do
		case $line in
		:files) files=-f ;;
		:directories) files=-/ ;;
		*)
			word=${line%%$'\t'*}
			shown=$word
			[[ $line == *$'\t'* ]] && shown="$word  -- ${line#*$'\t'}"
			if [[ $word == *[=/@] ]]; then
				open+=("$word") open_shown+=("$shown")
			else
				plain+=("$word") plain_shown+=("$shown")
			fi
			;;
		esac
	done < <("$words[1]" "${(@)words_before}" 2>/dev/null)
	(($#plain == 0)) || compadd -l -d plain_shown -a plain
	(($#open == 0)) || compadd -S '' -l -d open_shown -a open
	if [[ -n $files ]] && (($#plain + $#open == 0)); then
		[[ $PREFIX == --*=* ]] && compset -P 1 '*='
		_path_files $files
	fi
}

_muster "$@"
