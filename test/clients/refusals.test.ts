import { defineHandler, enqueue, enqueueAll, enqueueMany, PayloadInvalid, SettingError } from 'millrace';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import * as z from 'zod';
import chargeCard from './charge-card.ts';
import { CLIENTS, type OpenClient } from './clients.ts';
import { anything, failureOf, messages, openShop } from './shop.ts';

const { url, jobs } = await openShop();

/** The errors that docs/clients.md lists, and where each has that of the database. */
const ERRORS: Readonly<Record<string, readonly [name: string, place: string]>> = {
  pg: ['DatabaseError', ''],
  'postgres.js': ['PostgresError', ''],
  Kysely: ['DatabaseError', ''],
  Drizzle: ['DrizzleQueryError', 'cause'],
  Knex: ['DatabaseError', ''],
  TypeORM: ['QueryFailedError', 'driverError'],
  Prisma: ['PrismaClientKnownRequestError', 'meta.driverAdapterError'],
};

/** Returns the member of a value at a path such as `meta.driverAdapterError`. */
function at(value: unknown, path: string): unknown {
  const names = path.split('.').filter((name) => name !== '');
  return names.reduce((found, name) => (found as Record<string, unknown>)[name], value);
}

describe.each(Object.entries(CLIENTS))('a transaction of %s', (name, open) => {
  let client: OpenClient;

  beforeAll(async () => {
    client = await open(url);
  });
  afterAll(() => client.close());

  it('goes on after an invalid payload or option, which reaches no database', async () => {
    const errors = await client.transaction(async (tx) => {
      const found = [
        await failureOf(enqueue(tx, chargeCard, { name: 'A-1', cents: -1 })),
        await failureOf(enqueue(tx, anything, {}, { priority: 10 })),
        await failureOf(enqueueMany(tx, [{ handler: chargeCard, payload: { name: 'A-1', cents: 0 } }])),
      ];
      await enqueue(tx, anything, {});
      return found;
    });

    expect(errors[0]).toBeInstanceOf(PayloadInvalid);
    expect(errors[1]).toBeInstanceOf(SettingError);
    expect(messages(errors[0])).toContain('charge_card: payload/cents');
    expect(messages(errors[2])).toContain('charge_card: payload[0]/cents');
    expect(await jobs()).toHaveLength(1);
  });

  it('passes on an error of the database, after which the transaction accepts no more statements', async () => {
    const refused = { ...anything, jobType: 'Upper' };
    const seen: unknown[] = [];

    const rejected = failureOf(
      client.transaction(async (tx) => {
        await enqueue(tx, anything, {});
        seen.push(await failureOf(enqueue(tx, refused, {})));
        seen.push(await failureOf(enqueue(tx, anything, {})));
        throw seen[0];
      }),
    );

    const refusal = 'job_type is lower-case letters, digits and _, a letter first';
    const [error, place] = ERRORS[name]!;
    expect(messages(await rejected)).toContain(refusal);
    expect(seen[0]!.constructor.name).toBe(error);
    expect((at(seen[0], place) as Error).message).toContain(refusal);
    expect(messages(seen[1])).toContain('current transaction is aborted');
    expect(await jobs()).toEqual([]);
    expect((await client.placeOrder({ name: 'A-2', cents: 1 })).deduplicated).toBe(false);
  });

  it('names the handler of enqueueAll when none is deployed for its job type', async () => {
    const unknown = defineHandler({ jobType: 'unknown', payload: z.object({}), run: async () => undefined });

    const error = await failureOf(client.transaction((tx) => enqueueAll(tx, unknown, {})));

    expect(error).toBeInstanceOf(SettingError);
    expect((error as Error).message).toBe(
      'handler: no handler of the job type unknown is deployed: deploy one, or name a routing key with enqueue',
    );
  });

  it('names the option startBy when the run time that delay sets is later', async () => {
    const tooEarly = { delay: '1h', startBy: new Date(0) };

    const error = await failureOf(client.transaction((tx) => enqueue(tx, anything, {}, tooEarly)));

    expect(error).toBeInstanceOf(SettingError);
    expect(messages(error)).toContain('startBy: expected a time that is not before the run time that delay sets');
  });
});
