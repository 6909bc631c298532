import { subscribe } from 'node:diagnostics_channel';
import { renameSync, writeFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';

// `node --import` loads this file into the local servers. It counts the SQS requests that a process answers by action,
// and writes the counts to the file in MILLRACE_BENCH_COUNTS.
const EVERY_MS = 50;
const file = process.env.MILLRACE_BENCH_COUNTS;
const counts: Record<string, number> = {};
let changed = false;

subscribe('http.server.request.start', (message) => {
  const { request } = message as { request: IncomingMessage };
  const action = String(request.headers['x-amz-target'] ?? '').replace('AmazonSQS.', '');
  if (action === '') return;
  counts[action] = (counts[action] ?? 0) + 1;
  changed = true;
});

setInterval(() => {
  if (!changed || file === undefined) return;
  changed = false;
  writeFileSync(`${file}.new`, JSON.stringify(counts));
  renameSync(`${file}.new`, file);
}, EVERY_MS).unref();
