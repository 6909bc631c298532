import * as z from 'zod';
import { defineHandler } from '../../core/handler/handler.ts';

export default defineHandler({
  jobType: 'echo',
  payload: z.object({ say: z.string() }),
  timeout: 10,
  settings: { GREETING: { default: 'nothing' } },
  secrets: ['TOKEN'],
  run: async ({ payload, settings, secrets, log }) => {
    if (payload.say === 'greeting') return { say: settings.GREETING };
    if (payload.say !== 'token') return payload;
    log.info('received', { secrets });
    throw new Error(`401 for ${secrets.TOKEN}`);
  },
});
