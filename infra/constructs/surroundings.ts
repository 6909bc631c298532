import { Architecture } from 'aws-cdk-lib/aws-lambda';
import type { Construct } from 'constructs';
import { verifiesTokens } from '../settings/api-settings.ts';
import type { DatabaseChoice, Egress } from '../settings/place-settings.ts';
import type { Settings } from '../settings/settings.ts';
import { type DatabaseAccess, existingDatabase, newDatabase } from './database.ts';
import type { FunctionSurroundings } from './deployed-function.ts';
import { addEndpoints, checkEgress, newPlace, type Place } from './network.ts';

export interface SurroundingsProps extends Pick<Settings, 'stage' | 'architecture' | 'metricsByJobType' | 'api'> {
  readonly database: DatabaseChoice;
  readonly network: { readonly place?: Place; readonly egress?: Egress };
}

/** Makes the network and the database of a stage. */
export function makeSurroundings(scope: Construct, props: SurroundingsProps): FunctionSurroundings {
  const { stage, architecture, metricsByJobType, database, network, api } = props;
  const vpc = network.place ? 'given' : database.kind === 'create' ? 'new' : 'none';
  const egress = checkEgress(network.egress, { vpc, jwt: verifiesTokens(api) });
  const place = vpc === 'new' ? newPlace(scope, egress) : network.place;
  if (place && egress === 'endpoints') addEndpoints(scope, place, { api: api.mode !== 'off' });
  return {
    stage,
    metricsByJobType,
    architecture: architecture === 'arm64' ? Architecture.ARM_64 : Architecture.X86_64,
    database: makeDatabase(scope, database, place),
    ...(place && { place }),
    reached: ['Network', 'Endpoints', 'Database'].flatMap((id) => scope.node.tryFindChild(id) ?? []),
  };
}

function makeDatabase(scope: Construct, choice: DatabaseChoice, place: Place | undefined): DatabaseAccess {
  if (choice.kind === 'existing') return existingDatabase(scope, choice);
  if (place === undefined) throw new Error('a new database requires a VPC');
  return newDatabase(scope, place);
}
