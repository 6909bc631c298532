import { Annotations } from 'aws-cdk-lib';
import { Architecture } from 'aws-cdk-lib/aws-lambda';
import type { Construct } from 'constructs';
import { SettingError } from '../../core/errors.ts';
import { verifiesTokens } from '../settings/api-settings.ts';
import type { DatabaseChoice, Egress } from '../settings/place-settings.ts';
import type { Settings } from '../settings/settings.ts';
import { type DatabaseAccess, existingDatabase } from './database.ts';
import type { FunctionSurroundings } from './deployed-function.ts';
import { addEndpoints, checkEgress, newPlace, type Place } from './network.ts';
import { newDatabase } from './new-database.ts';
import { stageKey } from './stage-key.ts';

const IPV6_ALONE =
  'egress: functions reach only hosts that have an IPv6 address; for other hosts, such as most mail servers, set egress=nat';

const LITTLE_MEMORY =
  'databaseLogin: AWS requires 300 to 1,000 MiB of free memory for logins with IAM, and database=small has 1 GiB in all: ' +
  'compare FreeableMemory before and after, or set databaseLogin=password';

type Chosen =
  | 'stage'
  | 'architecture'
  | 'metrics'
  | 'metricsByJobType'
  | 'api'
  | 'protect'
  | 'standby'
  | 'kmsKey'
  | 'tracing';

export interface SurroundingsProps extends Pick<Settings, Chosen> {
  readonly database: DatabaseChoice;
  readonly network: { readonly place?: Place; readonly egress?: Egress };
}

/** Makes the network and the database of a stage. */
export function makeSurroundings(scope: Construct, props: SurroundingsProps): FunctionSurroundings {
  const { stage, architecture, metrics, metricsByJobType, database, network, api, tracing } = props;
  const vpc = network.place ? 'given' : database.kind === 'existing' ? 'none' : 'new';
  const egress = checkEgress(network.egress, { vpc, jwt: verifiesTokens(api) });
  const place = vpc === 'new' ? newPlace(scope, egress) : withIpv6(network.place, egress);
  if (egress === 'ipv6') Annotations.of(scope).addInfoV2('millrace:egress', IPV6_ALONE);
  const key = stageKey(scope, props);
  if (place && egress === 'endpoints') addEndpoints(scope, place, { api: api.mode !== 'off' });
  return {
    stage,
    metrics,
    metricsByJobType,
    key,
    tracing,
    architecture: architecture === 'arm64' ? Architecture.ARM_64 : Architecture.X86_64,
    database: makeDatabase(scope, props, { place, key }),
    ...(place && { place }),
    reached: ['Network', 'Endpoints', 'Database'].flatMap((id) => scope.node.tryFindChild(id) ?? []),
  };
}

function withIpv6(place: Place | undefined, egress: Egress): Place | undefined {
  return place && { ...place, ipv6: egress === 'ipv6' };
}

function makeDatabase(
  scope: Construct,
  props: SurroundingsProps,
  { place, key }: Pick<FunctionSurroundings, 'key'> & { readonly place: Place | undefined },
): DatabaseAccess {
  const { database, protect, standby } = props;
  if (database.kind === 'existing') {
    if (standby) throw new SettingError('standby', 'false, since database is existing', true);
    return existingDatabase(scope, database);
  }
  if (place === undefined) throw new Error('a new database requires a VPC');
  if (database.kind === 'small' && database.login === 'iam') {
    Annotations.of(scope).addWarningV2('millrace:databaseLogin', LITTLE_MEMORY);
  }
  return newDatabase(scope, { ...database, place, protect, standby, key });
}
