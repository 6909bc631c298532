import { defineHandler } from 'millrace';
import { indexRecord, Payload, RETRY } from '../src/index-record.ts';
import { vectorIndex } from '../src/vector-index.ts';

/** Writes the vector of a record, which keeps the processor busy: one at a time, and more retries. */
export default defineHandler({
  jobType: 'index_record',
  routingKey: 'vector',
  payload: Payload,
  batch: { size: 1 },
  concurrency: 2,
  maxAttempts: 6,
  timeout: '20s',
  retry: RETRY,
  async run({ payload, progress }) {
    progress(0, `process ${process.pid}`);
    return indexRecord(vectorIndex, payload.record);
  },
});
