import { describe, expect, it } from 'vitest';
import { databaseIdentity, judgeRequest } from '../../../core/registry/database-move.ts';
import type { StepProperties, StepRequest } from '../../../core/registry/deploy-step.ts';

const arn = 'arn:aws:secretsmanager:eu-central-1:123456789012:secret:prod/owner-AbCdEf';

it.each([
  ['the secret, which contains the address', {}, arn],
  ['the address', { host: 'db.example.com', port: '6432', database: 'shop' }, 'db.example.com:6432/shop'],
  ['the address without a port', { host: 'db.example.com', database: ' shop ' }, 'db.example.com/shop'],
  ['the host, and the secret with the name', { host: 'db.example.com' }, `${arn}@db.example.com`],
  ['the name, and the secret with the host', { port: '5432', database: 'shop' }, `${arn}@:5432/shop`],
])('names a database by %s', (_case, settings, text) => {
  expect(databaseIdentity({ arn, ...settings })).toBe(text);
});

const [OLD, NEW, THIRD] = ['old.example.com/shop', 'new.example.com/shop', 'third.example.com/shop'];

/** Returns what the function with the settings `own` does with a request of CloudFormation. */
function judge(own: string, RequestType: StepRequest['RequestType'], rest: Omit<StepRequest, 'RequestType'>) {
  return judgeRequest({ ...rest, ...(RequestType && { RequestType }) }, own, 'prod');
}

function update(PhysicalResourceId: string, given: StepProperties, old: StepProperties, own = given.Database ?? '') {
  return judge(own, 'Update', { PhysicalResourceId, ResourceProperties: given, OldResourceProperties: old });
}

const prepares = (database: string) => ({ prepares: true, answer: { PhysicalResourceId: database } });

it('prepares the database of a new stack, which is the id of the step from then on', () => {
  expect(judge(OLD, 'Create', { ResourceProperties: { Database: OLD } })).toEqual(prepares(OLD));
});

it('prepares the database of an invocation by a user', () => {
  expect(judge(OLD, undefined, {})).toEqual({ prepares: true, answer: {} });
});

it('prepares the same database for each update', () => {
  expect(update(OLD, { Database: OLD }, { Database: OLD })).toEqual(prepares(OLD));
});

it('does nothing when the stack is removed, whatever the request names', () => {
  const nothing = { prepares: false, answer: {} };

  expect(judge(OLD, 'Delete', { PhysicalResourceId: OLD, ResourceProperties: { Database: OLD } })).toEqual(nothing);
  expect(judge(NEW, 'Delete', { PhysicalResourceId: 'failed' })).toEqual(nothing);
});

it('refuses another database, and says how to move to it', () => {
  expect(() => update(OLD, { Database: NEW }, { Database: OLD })).toThrow(
    expect.objectContaining({
      name: 'RegistryError',
      message:
        'this deployment would change the database of the stage prod from old.example.com/shop to ' +
        'new.example.com/shop, where its jobs are not: deploy with the settings of the present database, or let its ' +
        'jobs finish, or copy it, and deploy with -c stage=prod -c moveDatabase=old.example.com/shop',
    }),
  );
});

it('refuses another database that is named in place of the present one', () => {
  const move = { Database: NEW, MoveDatabase: THIRD };

  expect(() => update(OLD, move, { Database: OLD })).toThrow(`from ${OLD} to ${NEW}`);
  expect(() => update(NEW, { Database: THIRD }, { Database: NEW, MoveDatabase: OLD })).toThrow(`from ${NEW} to`);
});

it('moves from the database that the deployment names', () => {
  expect(update(OLD, { Database: NEW, MoveDatabase: OLD }, { Database: OLD })).toEqual(prepares(NEW));
});

it('refuses a request without a database', () => {
  expect(() => judge(OLD, 'Create', {})).toThrow('ResourceProperties.Database: expected the database of the stage');
});

describe('in a rollback', () => {
  it('of a refused change, prepares the present database, which is still the id', () => {
    expect(update(OLD, { Database: OLD }, { Database: NEW })).toEqual(prepares(OLD));
  });

  it('of a move, prepares the database from which the failed deployment moved', () => {
    const failed = { Database: NEW, MoveDatabase: OLD };

    expect(update(NEW, { Database: OLD }, failed)).toEqual(prepares(OLD));
    expect(update(OLD, { Database: OLD }, failed)).toEqual(prepares(OLD));
  });

  it('touches no database before the function has its previous settings', () => {
    const skips = { prepares: false, answer: { PhysicalResourceId: OLD } };

    expect(update(OLD, { Database: OLD }, { Database: NEW }, NEW)).toEqual(skips);
    expect(update(NEW, { Database: OLD }, { Database: NEW, MoveDatabase: OLD }, NEW)).toEqual(skips);
  });
});
