// pg.ts
import { enqueue } from 'millrace';
import type pg from 'pg';
import chargeCard, { type Order } from './charge-card.ts';

export async function placeOrder(client: pg.ClientBase, { name, cents }: Order) {
  await client.query('begin');
  try {
    await client.query('insert into orders (name, cents) values ($1, $2)', [name, cents]);
    const job = await enqueue(client, chargeCard, { name, cents });
    await client.query('commit');
    return job;
  } catch (error) {
    await client.query('rollback');
    throw error;
  }
}
