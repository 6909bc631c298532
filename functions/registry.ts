import stated from '#definitions';
import { openConfiguredDatabase } from '../core/aws/configured.ts';
import { allSettings, awaitsRound, deployedHome, setting } from '../core/config.ts';
import { withVariables } from '../core/handler/variables.ts';
import { processLog } from '../core/log.ts';
import { awaitRound } from '../core/registry/await-round.ts';
import { runStep, type StepRequest } from '../core/registry/deploy-step.ts';
import { writeRegistry } from '../core/registry/prepare.ts';
import { systemTime } from '../core/time.ts';

const registration = {
  home: deployedHome(),
  queueUrlPrefix: setting('MILLRACE_QUEUE_URL_PREFIX', 'the part of a queue URL before the name'),
  log: processLog,
};
const definitions = stated.map((definition) => withVariables(definition, allSettings()));
const db = openConfiguredDatabase({ max: 1, name: 'millrace-registry', log: processLog });

/** The Lambda that a deployment runs last. From then on the dispatcher sends to the deployed handlers. */
export const handler = (request: StepRequest | null): Promise<void> =>
  runStep(async () => {
    if (request?.RequestType === 'Delete') return;
    await writeRegistry(db, definitions, registration);
    if (awaitsRound()) await awaitRound({ db, time: systemTime, log: processLog });
  });
