import { expect, it } from 'vitest';
import { refuseOldNode } from '../../../local/testing/refuse-old-node.ts';

it.each(['22.13.0', '22.20.1', '24.0.0'])('accepts Node %s', (version) => {
  expect(() => refuseOldNode(version)).not.toThrow();
});

it.each(['20.19.0', '22.12.0'])(
  'refuses Node %s, and names the oldest release and how to run a newer one',
  (version) => {
    expect(() => refuseOldNode(version)).toThrow(
      `requires Node 22.13 or later, and this is ${version}; runHandler does not. ` +
        'npm test and npx node --test use the Node 24 of millrace-dev',
    );
  },
);
