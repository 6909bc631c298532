import * as z from 'zod';
import { DurationText, Words } from '../schemas.ts';

/** The members of a new job that concern its unique key. */
export const UNIQUE = {
  unique_key: Words.optional().meta({
    description:
      '1 to 500 characters. While another job of the handler holds this key, no job with the key is inserted.',
  }),
  unique_by: z
    .enum(['payload'])
    .optional()
    .meta({ description: 'Makes the key of the payload: equal JSON values have equal keys. Not with unique_key.' }),
  unique_for: z.union([z.number().positive(), DurationText], 'expected seconds, or 30s, 5m, 2h, 1d').optional().meta({
    description: 'How long the job holds its key, unless it is cancelled; with unique_until, at most so long.',
  }),
  unique_until: z.enum(['dispatched', 'dead_letter', 'finished']).optional().meta({
    description: 'What ends the hold: the claim of the job, its death or end, or its end. Default: finished.',
  }),
  on_conflict: z.enum(['skip', 'replace']).optional().meta({
    description:
      'With replace, a job that holds the key and has not been dispatched gets this payload and these options.',
  }),
};
