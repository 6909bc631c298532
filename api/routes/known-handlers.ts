import { handlerName } from '../../core/handler/naming.ts';
import type { PayloadSchema } from '../../core/handler/payload.ts';
import type { Queryable } from '../../core/postgres/database.ts';
import { readAddresses } from '../../core/registry/list-handlers.ts';
import type { HandlerSchemas } from '../handler-schemas.ts';

/** The deployed handlers, and the schemas that this process has loaded. */
export interface KnownHandlers {
  readonly names: ReadonlySet<string>;
  /** The names of the handlers of each job type, in the order of their routing keys. */
  readonly byType: ReadonlyMap<string, readonly string[]>;
  readonly schemaOf: (name: string) => PayloadSchema | undefined;
}

export async function readKnownHandlers(db: Queryable, schemas: HandlerSchemas): Promise<KnownHandlers> {
  const addresses = await readAddresses(db);
  const byType = new Map<string, string[]>();
  for (const address of addresses) {
    byType.set(address.jobType, [...(byType.get(address.jobType) ?? []), handlerName(address)]);
  }
  const names = new Set(addresses.map(handlerName));
  return { names, byType, schemaOf: schemas.of };
}
