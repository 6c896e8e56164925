/* random-heap SEED THREADS OBSTACLE CHILD: see random-heap.h. */
#include "tracee.h"

#include "random-heap.h"

int
main(int argc, char **argv)
{
	struct random_heap_plan plan = {
		.seed = (unsigned int)tracee_number(argc, argv, 1, 1),
		.nr_threads = (int)tracee_number(argc, argv, 2, 2),
		.obstacle = (enum random_heap_obstacle)tracee_number(argc, argv, 3, OBSTACLE_NONE),
		.has_child = tracee_number(argc, argv, 4, 0),
	};

	prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
	random_heap_run(&plan);
	return tracee_end();
}
