import type { ApiAddress } from '../api-address.ts';
import type { Engine } from '../engine.ts';
import { openClient } from './client.ts';
import { deadLettersByApi } from './dead-letters.ts';
import { jobsByApi } from './jobs.ts';
import { numbersByApi } from './numbers.ts';

/** The engine, asked by its HTTP API. */
export function engineByApi(address: ApiAddress): Engine {
  const client = openClient(address);
  return { ...numbersByApi(client), ...jobsByApi(client), ...deadLettersByApi(client) };
}
