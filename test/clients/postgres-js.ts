// postgres-js.ts
import { type EnqueueClient, enqueue } from 'millrace';
import type { Sql, TransactionSql } from 'postgres';
import chargeCard, { type Order } from './charge-card.ts';

export const joining = (sql: TransactionSql): EnqueueClient => ({
  query: async (text, values) => ({ rows: await sql.unsafe(text, values as never[]) }),
});

export const placeOrder = (sql: Sql, order: Order) =>
  sql.begin(async (tx) => {
    await tx`insert into orders (name, cents) values (${order.name}, ${order.cents})`;
    return enqueue(joining(tx), chargeCard, order);
  });
