import { afterAll, beforeAll } from 'vitest';
import { type SqsEmulator, startSqs } from '../../../local/sqs/server.ts';
import { sqsContract } from '../../contract/sqs.ts';

let emulator: SqsEmulator;

beforeAll(async () => {
  emulator = await startSqs();
});
afterAll(() => emulator.close());

sqsContract('the SQS emulator', () => emulator.endpoint);
