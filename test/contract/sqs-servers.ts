import type { SqsServer } from './sqs.ts';
import { KNOWN_FAULTS, UNSETTLED } from './sqs-known-faults.ts';

/** The name under which the behaviours run against our emulator. */
export const OURS = 'the SQS emulator';
/** The same server, through the query protocol of older SDKs. */
export const OURS_BY_QUERY = 'the SQS emulator through the query protocol';
export const AWS = 'aws';

/** Returns the name of the setting with the address of a server, such as SQS_CONTRACT_MOTO=http://127.0.0.1:5000. */
export function settingOf(server: string): string {
  return `SQS_CONTRACT_${server.replaceAll('-', '_').toUpperCase()}`;
}

/** Returns the servers that settings name. AWS requires SQS_CONTRACT_AWS=1, since its queues are real. */
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
