import stated from '#definitions';
import { allSettings, deployedHome, setting } from '../core/config.ts';
import { withVariables } from '../core/handler/variables.ts';
import { processLog } from '../core/log.ts';
import { openConfiguredDatabase } from '../core/postgres/configured.ts';
import { writeRegistry } from '../core/registry/prepare.ts';

const registration = {
  home: deployedHome(),
  queueUrlPrefix: setting('MILLRACE_QUEUE_URL_PREFIX', 'the part of a queue URL before the name'),
  log: processLog,
};
const definitions = stated.map((definition) => withVariables(definition, allSettings()));
const db = openConfiguredDatabase({ max: 1, name: 'millrace-registry', log: processLog });

/** The Lambda that a deployment runs last. From then on the dispatcher sends to the deployed handlers. */
export const handler = (): Promise<void> => writeRegistry(db, definitions, registration);
