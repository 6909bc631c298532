// drizzle.ts
import { sql } from 'drizzle-orm';
import type { NodePgDatabase } from 'drizzle-orm/node-postgres';
import { integer, pgTable, text } from 'drizzle-orm/pg-core';
import { type EnqueueClient, enqueue } from 'millrace';
import chargeCard, { type Order } from './charge-card.ts';

export const joining = (tx: Pick<NodePgDatabase, 'execute'>): EnqueueClient => ({
  query(text, values) {
    // Every second part is the number of a parameter.
    const parts = text.split(/\$(\d+)/);
    return tx.execute(sql.join(parts.map((part, i) => (i % 2 ? sql.param(values[Number(part) - 1]) : sql.raw(part)))));
  },
});

const orders = pgTable('orders', { name: text().primaryKey(), cents: integer() });

export const placeOrder = (db: NodePgDatabase, order: Order) =>
  db.transaction(async (tx) => {
    await tx.insert(orders).values(order);
    return enqueue(joining(tx), chargeCard, order);
  });
