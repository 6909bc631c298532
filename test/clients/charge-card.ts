// charge-card.ts
import { defineHandler } from 'millrace';
import * as z from 'zod';

/** What the application stores in its table `orders`, and sends to the handler. */
export interface Order {
  readonly name: string;
  readonly cents: number;
}

export default defineHandler({
  jobType: 'charge_card',
  payload: z.object({ name: z.string(), cents: z.int().positive() }),
  run: async () => undefined,
});
