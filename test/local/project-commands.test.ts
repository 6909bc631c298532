import { expect, it } from 'vitest';
import { nodeTooOld, packageManager } from '../../local/project-commands.ts';

it.each([
  ['npm/11.19.1 node/v24.21.0 linux x64 workspaces/false', 'npx', 'npm install --save-dev'],
  ['pnpm/12.21.0 npm/? node/v20.20.2 linux x64', 'pnpm', 'pnpm add --save-dev'],
  ['yarn/4.18.1 npm/? node/v22.18.0 linux x64', 'yarn', 'yarn add --dev'],
  ['bun/1.3.0', 'npx', 'npm install --save-dev'],
  ['', 'npx', 'npm install --save-dev'],
])('the commands of a project are those of the program that runs it: %s', (agent, run, addForDevelopment) => {
  expect(packageManager(agent)).toMatchObject({ run, addForDevelopment });
});

it.each([
  ['pnpm/12.21.0 npm/? node/v20.20.2 linux x64', /from 22\.18 on, and this is 20\.20\.2: use a later Node/],
  ['yarn/4.18.1 npm/? node/v22.17.9 linux x64', /this is 22\.17\.9/],
  ['pnpm/12.21.0 npm/? node/v22.18.0 linux x64', undefined],
  ['pnpm/12.21.0 npm/? node/v24.21.0 linux x64', undefined],
  ['npm/11.19.1 node/v20.20.2 linux x64 workspaces/false', undefined],
  ['', undefined],
])('a Node that cannot run a test in TypeScript is named: %s', (agent, expected) => {
  const reason = nodeTooOld(packageManager(agent));

  if (expected === undefined) expect(reason).toBeUndefined();
  else expect(reason).toMatch(expected);
});
