import { afterAll, beforeAll } from 'vitest';
import { type SqsEmulator, startSqs } from '../../../local/sqs/server.ts';
import { sqsContract } from '../../contract/sqs.ts';
import { OURS } from '../../contract/sqs-servers.ts';

let emulator: SqsEmulator;

beforeAll(async () => {
  emulator = await startSqs();
});
afterAll(() => emulator.close());

sqsContract({ name: OURS, endpoint: () => emulator.endpoint });
