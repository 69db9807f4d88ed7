/* SPDX-License-Identifier: MIT */
/*
 * The objects of report/json.h as text for people. They may come from another
 * program: what is missing is shown as "-", and names are made fit for a terminal.
 * All return 0 or -ENOMEM.
 */
#pragma once

#include <json-c/json.h>
#include <stdio.h>

int nb_table_status(struct json_object *status, FILE *out);
int nb_table_nodes(struct json_object *nodes, FILE *out); /* the reply of GetNodes */
int nb_table_tasks(struct json_object *tasks, FILE *out); /* the reply of ListTasks */
int nb_table_task(struct json_object *task, FILE *out);   /* the reply of GetTask */
int nb_table_plan(struct json_object *plan, FILE *out);   /* the reply of GetPlan */
int nb_table_all(struct json_object *all, FILE *out);     /* of nb_json_all() */

/* Part of status and plan: how many tasks each reason holds. */
int nb_table_reasons(struct json_object *o, FILE *out);
