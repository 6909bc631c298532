// typeorm.ts
import { enqueue } from 'millrace';
import type { DataSource } from 'typeorm';
import chargeCard, { type Order } from './charge-card.ts';

export const placeOrder = (source: DataSource, order: Order) =>
  source.transaction(async (manager) => {
    await manager.insert('orders', order);
    return enqueue(manager, chargeCard, order);
  });
