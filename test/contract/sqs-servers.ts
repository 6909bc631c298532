import type { SqsServer } from './sqs.ts';
import { KNOWN_FAULTS, UNSETTLED } from './sqs-known-faults.ts';

/** Our emulator, by the name its behaviours run under. */
export const OURS = 'the SQS emulator';
export const AWS = 'aws';

/** The setting that says where a server listens, as SQS_CONTRACT_MOTO=http://127.0.0.1:5000. */
export function settingOf(server: string): string {
  return `SQS_CONTRACT_${server.replaceAll('-', '_').toUpperCase()}`;
}

/** The servers that settings name: AWS only when asked for in so many words, since it makes real queues. */
export function otherServers(): SqsServer[] {
  const servers: SqsServer[] = [];
  if (process.env[settingOf(AWS)] === '1') servers.push({ name: AWS, endpoint: () => undefined });
  for (const [name, knownFaults] of Object.entries(KNOWN_FAULTS)) {
    const endpoint = process.env[settingOf(name)];
    if (endpoint === undefined) continue;
    servers.push({ name, endpoint: () => endpoint, knownFaults, unsettled: UNSETTLED[name] ?? [], retries: 2 });
  }
  return servers;
}
