import { PrismaPg } from '@prisma/adapter-pg';
import { drizzle } from 'drizzle-orm/node-postgres';
import knex, { type Knex } from 'knex';
import { Kysely, PostgresDialect } from 'kysely';
import type { EnqueueClient, Enqueued } from 'millrace';
import pg from 'pg';
import postgres from 'postgres';
import { DataSource, EntitySchema } from 'typeorm';
import type { Order } from './charge-card.ts';
import { PrismaClient } from './dist/client.ts';
import * as withDrizzle from './drizzle.ts';
import * as withKnex from './knex.ts';
import * as withKysely from './kysely.ts';
import * as withPg from './pg.ts';
import * as withPostgresJs from './postgres-js.ts';
import * as withPrisma from './prisma.ts';
import * as withTypeorm from './typeorm.ts';

/** One client of an application, opened on a database with the table `orders`. */
export interface OpenClient {
  /** The example of docs/clients.md. */
  placeOrder(order: Order): Promise<Enqueued>;
  /** Runs work in the client's own kind of transaction, which it rolls back when the work throws. */
  transaction<T>(work: (client: EnqueueClient) => Promise<T>): Promise<T>;
  close(): Promise<unknown>;
}

/** Every client of docs/clients.md, by its name there. `pg` is the first, with which the tests compare the others. */
export const CLIENTS: Readonly<Record<string, (url: string) => Promise<OpenClient>>> = {
  pg: async (url) => {
    const client = new pg.Client(url);
    await client.connect();
    return {
      placeOrder: (order) => withPg.placeOrder(client, order),
      transaction: async (work) => {
        await client.query('begin');
        try {
          const result = await work(client);
          await client.query('commit');
          return result;
        } catch (error) {
          await client.query('rollback');
          throw error;
        }
      },
      close: () => client.end(),
    };
  },
  'postgres.js': async (url) => {
    const sql = postgres(url, { max: 1 });
    return {
      placeOrder: (order) => withPostgresJs.placeOrder(sql, order),
      transaction: <T>(work: (client: EnqueueClient) => Promise<T>) =>
        sql.begin((tx) => work(withPostgresJs.joining(tx))) as Promise<T>,
      close: () => sql.end(),
    };
  },
  Kysely: async (url) => {
    const pool = new pg.Pool({ connectionString: url, max: 1 });
    const db = new Kysely<{ orders: Order }>({ dialect: new PostgresDialect({ pool }) });
    return {
      placeOrder: (order) => withKysely.placeOrder(db, order),
      transaction: (work) => db.transaction().execute((trx) => work(withKysely.joining(trx))),
      close: () => db.destroy(),
    };
  },
  Drizzle: async (url) => {
    const pool = new pg.Pool({ connectionString: url, max: 1 });
    const db = drizzle({ client: pool });
    return {
      placeOrder: (order) => withDrizzle.placeOrder(db, order),
      transaction: (work) => db.transaction((tx) => work(withDrizzle.joining(tx))),
      close: () => pool.end(),
    };
  },
  Knex: async (url) => {
    const db: Knex = knex({ client: 'pg', connection: url, pool: { min: 0, max: 1 } });
    return {
      placeOrder: (order) => withKnex.placeOrder(db, order),
      transaction: (work) => db.transaction((trx) => work(withKnex.joining(trx))),
      close: () => db.destroy(),
    };
  },
  TypeORM: async (url) => {
    const columns = { name: { type: 'text', primary: true }, cents: { type: 'integer' } } as const;
    const entities = [new EntitySchema<Order>({ name: 'orders', tableName: 'orders', columns })];
    const source = await new DataSource({ type: 'postgres', url, entities, poolSize: 1 }).initialize();
    return {
      placeOrder: (order) => withTypeorm.placeOrder(source, order),
      transaction: (work) => source.transaction(work),
      close: () => source.destroy(),
    };
  },
  Prisma: async (url) => {
    const prisma = new PrismaClient({ adapter: new PrismaPg({ connectionString: url, max: 1 }) });
    return {
      placeOrder: (order) => withPrisma.placeOrder(prisma, order),
      transaction: (work) => prisma.$transaction((tx) => work(withPrisma.joining(tx))),
      close: () => prisma.$disconnect(),
    };
  },
};
