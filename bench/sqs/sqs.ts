import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openConnection, type SqsConnection } from './sqs-client.ts';
import { buildEmulator, type Emulator, endedCpuMs, startEmulator, startNode } from './sqs-emulator.ts';

const CLIENTS = 4;
const BATCH = 10;
const STARTS = 15;
/** Has the length of a Millrace message: a job's id, claim and epoch. */
const BODY = 'x'.repeat(170);

export interface SqsOptions {
  readonly messages: number;
  readonly runs: number;
  readonly print: (text: string) => void;
}

/** Measures the SQS emulator as the package ships it: start, memory, and messages per second with four clients. */
export async function runSqs({ messages, runs, print }: SqsOptions): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'bench-sqs-'));
  try {
    const main = await buildEmulator(folder);
    print(await measureStart(main));
    for (const kept of ['in memory', 'persisted'] as const) {
      for (let run = 0; run < runs; run += 1) {
        const data = kept === 'persisted' ? join(folder, `${run}.sqlite`) : undefined;
        print(await measureRates(kept, await startEmulator(main, data), messages));
      }
    }
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** Wall time is the minimum of many starts, the one with the least other work; processor time is the mean. */
async function measureStart(main: string): Promise<string> {
  const node = await measureStarts(async () => [await startNode(), 0]);
  const emulator = await measureStarts(async () => {
    const { startMs, megabytes, stop } = await startEmulator(main);
    const idle = await megabytes('VmRSS');
    await stop();
    return [startMs, idle];
  });
  const own = emulator.map((all, index) => (all - (node[index] ?? 0)).toFixed(0));
  const [ms, cpu] = node.map((one) => one.toFixed(0));
  return (
    `start: ${own[0]} ms (${own[1]} ms of CPU, including the stop) besides ${ms} ms (${cpu} ms) of Node itself; ` +
    `idle ${own[2]} MB`
  );
}

/** Returns milliseconds, processor milliseconds and megabytes. */
async function measureStarts(start: () => Promise<[number, number]>): Promise<number[]> {
  const cpu = await endedCpuMs();
  const results: [number, number][] = [];
  for (let count = 0; count < STARTS; count += 1) results.push(await start());
  const least = Math.min(...results.map(([ms]) => ms));
  return [least, ((await endedCpuMs()) - cpu) / STARTS, Math.max(...results.map(([, megabytes]) => megabytes))];
}

async function measureRates(kept: string, emulator: Emulator, messages: number): Promise<string> {
  const clients = await Promise.all(Array.from({ length: CLIENTS }, () => openConnection(emulator.port)));
  const QueueUrl = await createQueue(emulator.port);
  const sent = await timed(emulator, () => Promise.all(clients.map((client) => send(client, QueueUrl, messages))));
  const drained = await timed(emulator, () => drainAll(clients, QueueUrl, messages));
  const peak = await emulator.megabytes('VmHWM');
  for (const client of clients) client.close();
  await emulator.stop();
  const rate = ({ seconds, cpuSeconds }: Cost) =>
    `${(messages / seconds).toFixed(0)}/s (${(messages / cpuSeconds).toFixed(0)} per CPU second)`;
  return `${kept}: send ${rate(sent)}, receive and delete ${rate(drained)}, peak ${peak.toFixed(0)} MB`;
}

interface Cost {
  readonly seconds: number;
  /** Processor time of the emulator. */
  readonly cpuSeconds: number;
}

async function timed(emulator: Emulator, work: () => Promise<unknown>): Promise<Cost> {
  const [start, cpu] = [performance.now(), await emulator.cpuMs()];
  await work();
  return { seconds: (performance.now() - start) / 1000, cpuSeconds: ((await emulator.cpuMs()) - cpu) / 1000 };
}

async function createQueue(port: number): Promise<string> {
  const client = await openConnection(port);
  const { QueueUrl } = (await client.request('CreateQueue', { QueueName: 'bench' })) as { QueueUrl: string };
  client.close();
  return QueueUrl;
}

async function send(client: SqsConnection, QueueUrl: string, messages: number): Promise<void> {
  const Entries = Array.from({ length: BATCH }, (_, index) => ({ Id: String(index), MessageBody: BODY }));
  for (let count = 0; count < messages / CLIENTS / BATCH; count += 1) {
    await client.request('SendMessageBatch', { QueueUrl, Entries });
  }
}

async function drainAll(clients: readonly SqsConnection[], QueueUrl: string, messages: number): Promise<void> {
  const counts = await Promise.all(clients.map((client) => drain(client, QueueUrl)));
  const got = counts.reduce((sum, count) => sum + count, 0);
  if (got !== messages) throw new Error(`sent ${messages} messages and received ${got}`);
}

async function drain(client: SqsConnection, QueueUrl: string): Promise<number> {
  for (let count = 0; ; ) {
    const answer = await client.request('ReceiveMessage', { QueueUrl, MaxNumberOfMessages: BATCH });
    const { Messages = [] } = answer as { Messages?: { ReceiptHandle: string }[] };
    if (Messages.length === 0) return count;
    const Entries = Messages.map(({ ReceiptHandle }, index) => ({ Id: String(index), ReceiptHandle }));
    await client.request('DeleteMessageBatch', { QueueUrl, Entries });
    count += Messages.length;
  }
}
