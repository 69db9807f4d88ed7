/* SPDX-License-Identifier: MIT */
/*
 * masks PID…: prints the CPUs that each thread may use, and the pages of each process on each
 * node, to be compared before and after:
 *   pid=71 tid=71 cpus=0-3
 *   pid=71 pages N0=8 N1=51226
 * One small program: a shell that starts others for it would push the very threads about that
 * it looks at. Only anonymous memory is counted. A task that is gone is left out.
 */
#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_NODES 1024

static void print_threads(const char *pid)
{
	char path[512], line[4096];
	struct dirent **tasks;
	int n;

	snprintf(path, sizeof path, "/proc/%s/task", pid);
	n = scandir(path, &tasks, NULL, versionsort);
	for (int i = 0; i < n; i++) {
		FILE *f = NULL;

		if (isdigit((unsigned char)tasks[i]->d_name[0])) {
			snprintf(path, sizeof path, "/proc/%s/task/%s/status", pid,
				 tasks[i]->d_name);
			f = fopen(path, "re");
		}
		while (f && fgets(line, sizeof line, f))
			if (strncmp(line, "Cpus_allowed_list:", 18) == 0)
				printf("pid=%s tid=%s cpus=%s", pid, tasks[i]->d_name,
				       line + 18 + strspn(line + 18, " \t"));
		if (f)
			fclose(f);
		free(tasks[i]);
	}
	if (n >= 0)
		free(tasks);
}

/* Adds the " N1=23" of a line to the nodes. */
static void add_line(const char *line, unsigned long pages[MAX_NODES])
{
	for (const char *p = line; (p = strstr(p, " N"));) {
		char *end;
		unsigned long node = strtoul(p + 2, &end, 10);

		if (end > p + 2 && *end == '=' && node < MAX_NODES)
			pages[node] += strtoul(end + 1, NULL, 10);
		p += 2;
	}
}

static void print_pages(const char *pid)
{
	static unsigned long pages[MAX_NODES];
	char path[64], *line = NULL;
	size_t size = 0;
	FILE *f;

	snprintf(path, sizeof path, "/proc/%s/numa_maps", pid);
	f = fopen(path, "re");
	if (!f)
		return;
	memset(pages, 0, sizeof pages);
	while (getline(&line, &size, f) > 0)
		if (strstr(line, " anon="))
			add_line(line, pages);
	free(line);
	fclose(f);
	printf("pid=%s pages", pid);
	for (unsigned node = 0; node < MAX_NODES; node++)
		if (pages[node] > 0)
			printf(" N%u=%lu", node, pages[node]);
	putchar('\n');
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		if (strspn(argv[i], "0123456789") != strlen(argv[i]) || !*argv[i]) {
			fprintf(stderr, "masks: %s: not a pid\n", argv[i]);
			return 2;
		}
		print_threads(argv[i]);
	}
	for (int i = 1; i < argc; i++)
		print_pages(argv[i]);
	return 0;
}
