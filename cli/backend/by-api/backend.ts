import type { ApiAddress } from '../../target/api-address.ts';
import type { Backend } from '../backend.ts';
import { openClient } from './client.ts';
import { deadLettersByApi } from './dead-letters.ts';
import { discardsByApi } from './discards.ts';
import { examineApi } from './examine.ts';
import { handlersByApi } from './handlers.ts';
import { jobsByApi } from './jobs.ts';
import { keysByApi } from './keys.ts';
import { numbersByApi } from './numbers.ts';
import { operationsByApi } from './operations.ts';
import { redrivesByApi } from './redrives.ts';
import { schedulesByApi } from './schedules.ts';

/** Returns a backend that uses the HTTP API. */
export function backendByApi(address: ApiAddress): Backend {
  const client = openClient(address);
  return {
    ...numbersByApi(client),
    ...jobsByApi(client),
    ...handlersByApi(client),
    ...deadLettersByApi(client),
    ...discardsByApi(client),
    ...redrivesByApi(client),
    ...operationsByApi(client),
    ...schedulesByApi(client),
    ...keysByApi(client),
    examine: () => examineApi(client),
  };
}
