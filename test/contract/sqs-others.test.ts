import { describe, expect, it } from 'vitest';
import { BEHAVIOUR_NAMES, sqsContract } from './sqs.ts';
import { KNOWN_FAULTS, settingOf, UNSETTLED } from './sqs-known-faults.ts';

describe('the contract of SQS', () => {
  it('names every behaviour once', () => {
    expect(new Set(BEHAVIOUR_NAMES).size).toBe(BEHAVIOUR_NAMES.length);
  });

  it.each(Object.keys(KNOWN_FAULTS))('knows only behaviours as faults of %s', (server) => {
    const named = [...(KNOWN_FAULTS[server] ?? []), ...(UNSETTLED[server] ?? [])];

    expect(named.filter((name) => !BEHAVIOUR_NAMES.includes(name))).toEqual([]);
  });
});

// Each with the server's endpoint, as in SQS_CONTRACT_MOTO=http://127.0.0.1:5000 npx vitest run test/contract
for (const [server, faults] of Object.entries(KNOWN_FAULTS)) {
  const endpoint = process.env[settingOf(server)];
  if (endpoint !== undefined) sqsContract(server, () => endpoint, faults, UNSETTLED[server]);
}
