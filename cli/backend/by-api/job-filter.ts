import { conditionText, type PinnedJobFilter } from '../../../core/look/job-filter.ts';

/** Returns the filter with the API's names for its parts. */
export function jobFilterDocument(filter: PinnedJobFilter) {
  const { statuses, jobTypes, routingKey, uniqueKey, groupKey, error, group, payload } = filter;
  const some = <Value>(list: readonly Value[] | undefined) => (list?.length ? list : undefined);
  return {
    ...{ status: some(statuses), job_type: some(jobTypes), routing_key: routingKey, unique_key: uniqueKey },
    ...{ group_key: groupKey, error, group, payload: some(payload?.map(conditionText)) },
    ...{ created_from: filter.createdFrom?.toISOString(), created_to: filter.createdTo?.toISOString() },
    ...{ attempts_from: filter.attemptsFrom, attempts_to: filter.attemptsTo },
  };
}
