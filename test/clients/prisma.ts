// prisma.ts
import { type EnqueueClient, enqueue } from 'millrace';
import chargeCard, { type Order } from './charge-card.ts';
import type { Prisma, PrismaClient } from './dist/client.ts';

export const joining = (tx: Prisma.TransactionClient): EnqueueClient => ({
  query: async (text, values) => ({ rows: await tx.$queryRawUnsafe<unknown[]>(text, ...values) }),
});

export const placeOrder = (prisma: PrismaClient, order: Order) =>
  prisma.$transaction(async (tx) => {
    await tx.order.create({ data: order });
    return enqueue(joining(tx), chargeCard, order);
  });
