import * as z from 'zod';
import { ACTIONS, OPERATION_STATUSES } from '../../core/operations/operation.ts';
import { partlySeen } from '../redact.ts';
import { Id, Status } from '../schemas.ts';

const OperationFilter = z
  .looseObject({
    limit: z.number().int().optional(),
    all: z.boolean().optional(),
    too_large: z.boolean().optional().meta({
      description: 'True when the filter is larger than 16 KiB: its parts are omitted.',
    }),
  })
  .meta({ id: 'OperationFilter', description: 'The filter of the operation, as in its request.' });

export const Operation = z
  .object({
    id: Id,
    kind: z.enum([...ACTIONS, 'redrive']),
    status: z.enum(OPERATION_STATUSES),
    rate_per_second: z.number().nullable(),
    expected: z
      .number()
      .int()
      .nullable()
      .meta({ description: 'Jobs that matched at the start; null if they were too many to be counted.' }),
    done: z.number().int().meta({ description: 'Jobs that were changed, or whose cancellation was requested.' }),
    left: z
      .record(z.string(), z.number().int())
      .meta({ description: 'Numbers of matching jobs that were not changed, by reason.' }),
    examined: z.number().meta({ description: 'Part of the jobs that were examined, from 0 to 1.' }),
    filter: OperationFilter,
    change: z
      .object({ run_at: z.string().optional(), priority: z.number().int().optional() })
      .nullable()
      .meta({ description: 'What a reschedule sets; null for others.' }),
    reason: z.string().nullable(),
    as_of: z.iso.datetime().meta({ description: 'Jobs that were enqueued or changed later are not touched.' }),
    requested_by: z.string(),
    created_at: z.iso.datetime(),
    finished_at: z.iso.datetime().nullable(),
  })
  .meta({ id: 'Operation' });
export const ChangedOperation = z.object(partlySeen(Operation.shape)).meta({ id: 'ChangedOperation' });

export const OperationPreview = z
  .object({
    matched: z.number().int(),
    complete: z.boolean().meta({ description: 'False if the jobs are too many to be counted in time.' }),
    as_of: z.iso.datetime().meta({ description: 'Send it with the request, so that no later job is touched.' }),
    counts: z.array(
      z.object({ status: Status, job_type: z.string(), routing_key: z.string(), jobs: z.number().int() }),
    ),
  })
  .meta({ id: 'OperationPreview' });
