/* fs_nccl_topo.c - the NCCL topology file of a simulated node, as images for its machine type bring it along
 */
#include "sim/fs.h"

/* The NUMA node whose devices the file lists under this one. */
static int devices_of(const struct muster_sim_node *node, size_t index)
{
	bool swapped = node->topo_file_swapped && node->numa_count > 1 && index < 2;
	return node->numas[swapped ? 1 - index : index].os_index;
}

static void print_device(const struct muster_sim_hardware *hw, const char *bus_id, FILE *out)
{
	fprintf(out, "      <pci busid=\"%s\" class=\"%s\" link_speed=\"16.0 GT/s PCIe\" link_width=\"16\"/>\n", bus_id,
		muster_sim_pci_find(hw, bus_id)->class_code);
}

void muster_sim_topo_file_print(
	const struct muster_sim_node *node, const struct muster_sim_hardware *hardware, FILE *out)
{
	unsigned int cpus = muster_sim_cpu_end(node);
	fputs("<system version=\"1\">\n", out);
	for (size_t i = 0; i < node->numa_count; i++) {
		int devices = devices_of(node, i);
		fprintf(out, "  <cpu numaid=\"%d\" affinity=\"", node->numas[i].os_index);
		hwloc_bitmap_t set = muster_sim_cpus(node, node->numas[i].os_index);
		muster_sim_mask_print(set, cpus, out);
		hwloc_bitmap_free(set);
		fprintf(out, "\" arch=\"%s\">\n", node->architecture);
		fprintf(out, "    <pci busid=\"ffff:ff:%02zx.0\" class=\"0x060400\">\n", i + 1);
		for (size_t g = 0; g < node->gpu_count; g++)
			if (node->gpus[g].numa_node == devices)
				print_device(hardware, node->gpus[g].bus_id, out);
		for (size_t g = 0; g < node->unseen_gpu_count; g++)
			if (node->unseen_gpus[g].numa_node == devices)
				print_device(hardware, node->unseen_gpus[g].bus_id, out);
		for (size_t p = 0; p < node->port_count; p++)
			if (node->ports[p].numa_node == devices && node->ports[p].link_layer[0] == 'I' &&
				muster_sim_port_is_first(node, p))
				print_device(hardware, node->ports[p].pci, out);
		fputs("    </pci>\n  </cpu>\n", out);
	}
	fputs("</system>\n", out);
}
