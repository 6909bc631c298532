import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll } from 'vitest';
import { type SqsEmulator, startSqs } from '../../../local/sqs/server.ts';
import { sqsContract } from '../../contract/sqs.ts';
import { OURS, OURS_BY_QUERY } from '../../contract/sqs-servers.ts';

let folder: string;
let inMemory: SqsEmulator;
let persisted: SqsEmulator;
let byQuery: SqsEmulator;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'sqs-contract-'));
  inMemory = await startSqs();
  byQuery = await startSqs();
  persisted = await startSqs({ dataFile: join(folder, 'sqs.sqlite') });
});
afterAll(async () => {
  await Promise.all([inMemory.close(), persisted.close(), byQuery.close()]);
  await rm(folder, { recursive: true });
});

sqsContract({ name: OURS, endpoint: () => inMemory.endpoint });
sqsContract({ name: OURS_BY_QUERY, endpoint: () => byQuery.endpoint, protocol: 'query' });
sqsContract({ name: 'the SQS emulator with a data file', endpoint: () => persisted.endpoint });
