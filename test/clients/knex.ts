// knex.ts
import type { Knex } from 'knex';
import { type EnqueueClient, enqueue } from 'millrace';
import chargeCard, { type Order } from './charge-card.ts';

export const joining = (trx: Knex.Transaction): EnqueueClient => ({
  query(text, values) {
    const bindings: Knex.RawBinding[] = [];
    // Knex has parameters without numbers: repeat the value of one that the text uses twice.
    const raw = text.replaceAll('?', '\\?').replace(/\$(\d+)/g, (_, number) => {
      bindings.push(values[number - 1] as Knex.RawBinding);
      return '?';
    });
    return trx.raw(raw, bindings);
  },
});

export const placeOrder = (knex: Knex, order: Order) =>
  knex.transaction(async (trx) => {
    await trx('orders').insert(order);
    return enqueue(joining(trx), chargeCard, order);
  });
