// kysely.ts
import { CompiledQuery, type Kysely, type Transaction } from 'kysely';
import { type EnqueueClient, enqueue } from 'millrace';
import chargeCard, { type Order } from './charge-card.ts';

export const joining = <Tables>(trx: Transaction<Tables>): EnqueueClient => ({
  query: (text, values) => trx.executeQuery(CompiledQuery.raw(text, values)),
});

export const placeOrder = (db: Kysely<{ orders: Order }>, order: Order) =>
  db.transaction().execute(async (trx) => {
    await trx.insertInto('orders').values(order).execute();
    return enqueue(joining(trx), chargeCard, order);
  });
