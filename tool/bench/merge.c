// SPDX-License-Identifier: BSD-2-Clause
/* Pooling. See merge.h. */
#include "merge.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <gsl/gsl_cdf.h>

#define MIXTURE 50

/* Weighted mean for a given spread; returns the generalised Q, the sum of squared residuals. */
static double weigh(const double *y, const double *se, size_t n, double tau2, double *mean,
                    double *sum)
{
	double q = 0;

	*mean = *sum = 0;
	for (size_t i = 0; i < n; i++) {
		double w = 1 / (se[i] * se[i] + tau2);

		*sum += w;
		*mean += w * y[i];
	}
	*mean /= *sum;
	for (size_t i = 0; i < n; i++)
		q += (y[i] - *mean) * (y[i] - *mean) / (se[i] * se[i] + tau2);
	return q;
}

/* The spread with which the squared residuals sum up to @wanted; 0 when none makes them so large.
 * The sum falls as the spread grows. */
static double spread_for(const double *y, const double *se, size_t n, double wanted)
{
	double low = 0, high = 1e-12, mean, sum;

	if (weigh(y, se, n, 0, &mean, &sum) <= wanted)
		return 0;
	while (weigh(y, se, n, high, &mean, &sum) > wanted && high < 1e12)
		high *= 4;
	for (int i = 0; i < 60; i++) {
		double middle = (low + high) / 2;

		if (weigh(y, se, n, middle, &mean, &sum) > wanted)
			low = middle;
		else
			high = middle;
	}
	return high;
}

/* What a further host may be, given what is not known of the spread: a mixture over the spreads
 *that the data allow, each as likely as the sum of squares it makes. With the one best spread
 *instead, and eight hosts, such an interval holds a further host 88 times in 100 and not 95.
 *
 * Ref: Nagashima, Noma and Furukawa, "Prediction intervals for random-effects meta-analysis: a
 *confidence distribution approach". */
struct mixture {
	double mean[MIXTURE], scale[MIXTURE], df;
};

static void mix(const double *y, const double *se, size_t n, struct mixture *m)
{
	m->df = (double)n - 1;
	for (int i = 0; i < MIXTURE; i++) {
		double wanted = gsl_cdf_chisq_Pinv((i + 0.5) / MIXTURE, m->df), sum;
		double tau2 = spread_for(y, se, n, wanted);
		double q = weigh(y, se, n, tau2, &m->mean[i], &sum);

		m->scale[i] = sqrt(tau2 + fmax(1, q / m->df) / sum);
	}
}

static double below(const struct mixture *m, double x)
{
	double p = 0;

	for (int i = 0; i < MIXTURE; i++)
		p += gsl_cdf_tdist_P((x - m->mean[i]) / m->scale[i], m->df);
	return p / MIXTURE;
}

static double quantile(const struct mixture *m, double p)
{
	double low = m->mean[0], high = low, widest = 0;

	for (int i = 0; i < MIXTURE; i++)
		widest = fmax(widest, m->scale[i] + fabs(m->mean[i] - m->mean[0]));
	low -= 100 * widest;
	high += 100 * widest;
	for (int i = 0; i < 60; i++) {
		double middle = (low + high) / 2;

		if (below(m, middle) < p)
			low = middle;
		else
			high = middle;
	}
	return high;
}

void merge_pool_of(const double *y, const double *se, size_t n, struct merge_pool *out)
{
	double tau2, q, sum, df = (double)n - 1, t;
	struct mixture mixture;

	*out = (struct merge_pool){n, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN};
	if (!n)
		return;
	q = weigh(y, se, n, 0, &out->mean, &sum);
	if (n == 1) {
		t = gsl_cdf_ugaussian_Pinv(0.975);
		out->se = se[0];
		out->low = y[0] - t * se[0];
		out->high = y[0] + t * se[0];
		return;
	}
	out->equal_p = gsl_cdf_chisq_Q(q, df);
	out->i2 = q > df ? (q - df) / q : 0;
	tau2 = spread_for(y, se, n, df);
	out->tau = sqrt(tau2);
	q = weigh(y, se, n, tau2, &out->mean, &sum);
	out->se = sqrt(fmax(1, q / df) / sum);
	t = gsl_cdf_tdist_Pinv(0.975, df);
	out->low = out->mean - t * out->se;
	out->high = out->mean + t * out->se;
	if (n < 3)
		return;
	mix(y, se, n, &mixture);
	out->next_low = quantile(&mixture, 0.025);
	out->next_high = quantile(&mixture, 0.975);
}

/* Was the run quiet, by the limits it carries? */
static bool is_loud(const json_t *doc)
{
	const json_t *noise = result_list(doc, "noise"), *limits = result_list(doc, "noise_limits"),
	             *one;
	const json_t *controls = result_list(doc, "controls");
	const char *key;
	size_t i;

	if (!noise || !limits || !json_array_size(controls))
		return true;
	json_object_foreach(
	        (json_t *)limits, key,
	        one) if (!(result_number(noise, key) <= result_number(limits, key))) return true;
	json_array_foreach((json_t *)controls, i, one) if (!result_flag(one, "found")) return true;
	return false;
}

static bool add(struct merge *m, const struct result *result, const char *prefix, const char *id,
                double y, double se)
{
	const json_t *machine = result_list(result->doc, "machine");
	struct merge_value *v;

	if (!id[0] || !isfinite(y) || !(se > 0) || !isfinite(se) || fabs(y) > 50 || se > 50)
		return true;
	v = realloc(m->value, (m->values + 1) * sizeof(*v));
	if (!v)
		return false;
	m->value = v;
	v += m->values++;
	*v = (struct merge_value){.source = result->source, .y = y, .se = se};
	snprintf(v->cpu, sizeof(v->cpu), "%.12s %.0f/%.0f",
	         result_text(machine, "vendor", "unknown"), result_number(machine, "family"),
	         result_number(machine, "model"));
	/* Runs of one boot are one host; what does not say its boot is a host of its own. */
	snprintf(v->host, sizeof(v->host), "%.180s",
	         result_text(result->doc, "boot", result->source));
	snprintf(v->id, sizeof(v->id), "%s%.80s", prefix, id);
	return true;
}

#define Z 1.959963984540054 /* an interval is so many standard errors to each side */

/* An effect as its ratio with an interval. */
static bool add_ratio(struct merge *m, const struct result *result, const char *prefix,
                      const char *id, double ratio, double low, double high)
{
	if (!(ratio > 0) || !(low > 0) || !(high > low))
		return true;
	return add(m, result, prefix, id, log(ratio), (log(high) - log(low)) / (2 * Z));
}

static bool add_run(struct merge *m, const struct result *result)
{
	const json_t *pairs = result_list(result->doc, "pairs"), *row;
	const json_t *fibers = result_list(result->doc, "switches");
	const json_t *effects = result_list(result->doc, "effects");
	size_t i;

	json_array_foreach((json_t *)pairs, i,
	                   row) if (!add(m, result, "", result_text(row, "id", ""),
	                                 result_number(row, "log_ratio"),
	                                 result_number(row, "log_ratio_se"))) return false;
	json_array_foreach((json_t *)fibers, i, row)
	{
		char id[96];

		snprintf(id, sizeof(id), "%.40s/%.20s", result_text(row, "id", ""),
		         result_text(row, "live", ""));
		if (!add_ratio(m, result, "fiber/", id, result_number(row, "ratio"),
		               result_number(row, "low_ratio"), result_number(row, "high_ratio")))
			return false;
	}
	json_array_foreach((json_t *)effects, i,
	                   row) if (!strcmp(result_text(row, "unit", ""), "percent") &&
	                            !add_ratio(m, result, "insn/", result_text(row, "question", ""),
	                                       1 + result_number(row, "effect") / 100,
	                                       1 + result_number(row, "low") / 100,
	                                       1 + result_number(row, "high") / 100)) return false;
	return true;
}

static int compare(const void *a, const void *b)
{
	const struct merge_value *x = a, *y = b;
	int c = strcmp(x->id, y->id);

	c = c ? c : strcmp(x->cpu, y->cpu);
	return c ? c : strcmp(x->host, y->host);
}

static bool is_same(const struct merge_value *a, const struct merge_value *b)
{
	return !strcmp(a->id, b->id) && !strcmp(a->cpu, b->cpu) && !strcmp(a->host, b->host);
}

/* Several runs of one host become one value: between them only their own errors count. */
static void join_runs(struct merge *m)
{
	size_t out = 0;

	for (size_t i = 0; i < m->values;) {
		double w = 0, sum = 0;
		size_t k = i;

		for (; k < m->values && is_same(&m->value[i], &m->value[k]); k++) {
			double each = 1 / (m->value[k].se * m->value[k].se);

			w += each;
			sum += each * m->value[k].y;
		}
		m->value[out] = m->value[i];
		m->value[out].y = sum / w;
		m->value[out++].se = sqrt(1 / w);
		i = k;
	}
	m->values = out;
}

static size_t count_hosts(const struct merge *m)
{
	size_t n = 0;

	for (size_t i = 0; i < m->values; i++) {
		size_t k = 0;

		while (k < i && strcmp(m->value[k].host, m->value[i].host))
			k++;
		n += k == i;
	}
	return n;
}

/* The groups of one row, whose values are @first ... @end - 1. */
static bool pool_row(struct merge *m, struct merge_row *row, size_t first, size_t end)
{
	double *y = malloc(2 * (end - first) * sizeof(*y)), *se = y + (end - first);

	if (!y)
		return false;
	*row = (struct merge_row){.id = m->value[first].id, .between_p = NAN};
	for (size_t i = first; i < end && row->groups < MERGE_GROUPS;) {
		size_t n = 0, k = i;

		for (; k < end && !strcmp(m->value[k].cpu, m->value[i].cpu); k++, n++) {
			y[n] = m->value[k].y;
			se[n] = m->value[k].se;
		}
		row->group[row->groups].cpu = m->value[i].cpu;
		merge_pool_of(y, se, n, &row->group[row->groups++].pool);
		i = k;
	}
	free(y);
	return true;
}

static double t_of(const struct merge_pool *p, double alpha)
{
	return p->n > 1 ? gsl_cdf_tdist_Qinv(alpha / 2, (double)p->n - 1)
	                : gsl_cdf_ugaussian_Qinv(alpha / 2);
}

/* Welch's degrees of freedom of a difference; a single host's error counts as known. */
static double df_of(const struct merge_pool *a, const struct merge_pool *b)
{
	double va = a->se * a->se, vb = b->se * b->se;
	double d = (a->n > 1 ? va * va / ((double)a->n - 1) : 0) +
	           (b->n > 1 ? vb * vb / ((double)b->n - 1) : 0);

	return d > 0 ? (va + vb) * (va + vb) / d : INFINITY;
}

static bool compare_groups(struct merge_row *row, double alpha)
{
	size_t pairs = row->groups * (row->groups - 1) / 2;
	double y[MERGE_GROUPS], se[MERGE_GROUPS];
	struct merge_pool all;

	if (!pairs)
		return true;
	row->differ = calloc(pairs, sizeof(*row->differ));
	if (!row->differ)
		return false;
	for (size_t a = 0; a < row->groups; a++) {
		const struct merge_pool *p = &row->group[a].pool;

		y[a] = p->mean;
		/* A group of few hosts is less sure of its error than a normal one. */
		se[a] = p->se * t_of(p, 0.05) / Z;
		for (size_t b = a + 1; b < row->groups; b++) {
			const struct merge_pool *q = &row->group[b].pool;
			double df = df_of(p, q), d = q->mean - p->mean, w = hypot(p->se, q->se);
			double t = isfinite(df) ? gsl_cdf_tdist_Qinv(alpha / 2, df)
			                        : gsl_cdf_ugaussian_Qinv(alpha / 2);

			if (fabs(d) <= t * w)
				continue;
			row->differ[row->differing++] = (struct merge_difference){
			        row->group[a].cpu, row->group[b].cpu, d, d - t * w, d + t * w};
		}
	}
	merge_pool_of(y, se, row->groups, &all);
	row->between_p = all.equal_p;
	return true;
}

static void say(struct merge_row *row, size_t rows)
{
	size_t uneven = 0;

	for (size_t g = 0; g < row->groups; g++)
		uneven += row->group[g].pool.equal_p < 0.05 / (double)(rows * row->groups);
	snprintf(row->verdict, sizeof(row->verdict), "%s%s",
	         row->groups == 1 ? "One CPU model"
	         : row->differing ? "CPU models differ"
	                          : "No difference between CPU models seen",
	         uneven ? "; hosts of one model differ by more than their errors" : "");
}

bool merge_of(struct merge *m, const struct results *results, bool strict)
{
	size_t pairs = 0;

	*m = (struct merge){0};
	for (size_t i = 0; i < results->n; i++) {
		const struct result *r = &results->list[i];
		bool loud;

		if (strcmp(r->schema, "xstate.bench/1"))
			continue;
		if (results_is_copy(results, i)) {
			m->copies++;
			continue;
		}
		loud = is_loud(r->doc);
		m->loud += loud;
		m->runs++;
		if (!(loud && strict) && !add_run(m, r))
			return false;
	}
	if (!m->values)
		return true;
	qsort(m->value, m->values, sizeof(*m->value), compare);
	join_runs(m);
	m->hosts = count_hosts(m);
	for (size_t i = 0; i < m->values; i++)
		m->rows += !i || strcmp(m->value[i].id, m->value[i - 1].id);
	m->row = calloc(m->rows, sizeof(*m->row));
	if (!m->row)
		return false;
	for (size_t i = 0, r = 0; i < m->values; r++) {
		size_t end = i;

		while (end < m->values && !strcmp(m->value[end].id, m->value[i].id))
			end++;
		if (!pool_row(m, &m->row[r], i, end))
			return false;
		pairs += m->row[r].groups * (m->row[r].groups - 1) / 2;
		i = end;
	}
	for (size_t r = 0; r < m->rows; r++) {
		if (!compare_groups(&m->row[r], 0.05 / (double)(pairs ? pairs : 1)))
			return false;
		say(&m->row[r], m->rows);
	}
	return true;
}

void merge_free(struct merge *m)
{
	for (size_t r = 0; r < m->rows && m->row; r++)
		free(m->row[r].differ);
	free(m->row);
	free(m->value);
	*m = (struct merge){0};
}
