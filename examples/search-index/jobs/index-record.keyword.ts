import { defineHandler } from 'millrace';
import { indexRecord, Payload, RETRY } from '../src/index-record.ts';
import { keywordIndex } from '../src/keyword-index.ts';

/** Writes a record to the full-text index, which is quick: many at a time, and few retries. */
export default defineHandler({
  jobType: 'index_record',
  routingKey: 'keyword',
  payload: Payload,
  batch: { size: 10 },
  concurrency: 4,
  maxAttempts: 4,
  timeout: '10s',
  retry: RETRY,
  run: ({ payload }) => indexRecord(keywordIndex, payload.record),
});
