import { describe, expect, it } from 'vitest';
import { BEHAVIOUR_NAMES, sqsContract } from './sqs.ts';
import { KNOWN_FAULTS, UNSETTLED } from './sqs-known-faults.ts';
import { otherServers } from './sqs-servers.ts';

describe('the contract of SQS', () => {
  it('gives every behaviour a unique name', () => {
    expect(new Set(BEHAVIOUR_NAMES).size).toBe(BEHAVIOUR_NAMES.length);
  });

  it.each(Object.keys(KNOWN_FAULTS))('lists only behaviours as faults of %s', (server) => {
    const named = [...(KNOWN_FAULTS[server] ?? []), ...(UNSETTLED[server] ?? [])];

    expect(named.filter((name) => !BEHAVIOUR_NAMES.includes(name))).toEqual([]);
  });
});

for (const server of otherServers()) sqsContract(server);
