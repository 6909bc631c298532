import { RemovalPolicy } from 'aws-cdk-lib';
import { AccessLogFormat } from 'aws-cdk-lib/aws-apigateway';
import {
  ApiMapping,
  DomainName,
  HttpApi,
  HttpMethod,
  HttpNoneAuthorizer,
  HttpStage,
  type IHttpRouteAuthorizer,
  LogGroupLogDestination,
} from 'aws-cdk-lib/aws-apigatewayv2';
import { HttpIamAuthorizer, HttpJwtAuthorizer } from 'aws-cdk-lib/aws-apigatewayv2-authorizers';
import { HttpLambdaIntegration } from 'aws-cdk-lib/aws-apigatewayv2-integrations';
import { Certificate } from 'aws-cdk-lib/aws-certificatemanager';
import type { IKey } from 'aws-cdk-lib/aws-kms';
import type { IFunction } from 'aws-cdk-lib/aws-lambda';
import { LogGroup, RetentionDays } from 'aws-cdk-lib/aws-logs';
import type { Construct } from 'constructs';
import { OPEN_PATHS } from '../../core/access/scopes.ts';
import { functionName } from '../../core/handler/naming.ts';
import { type ApiChoice, type ApiFront, verifiesTokens } from '../settings/api-settings.ts';
import { acknowledge } from './acknowledge.ts';

const REQUESTS_PER_SECOND = 100;

// The default format contains the resource path, which an HTTP API lacks.
const ACCESS_LOG = AccessLogFormat.custom(
  JSON.stringify({
    ...{ request_id: '$context.requestId', time: '$context.requestTime', ip: '$context.identity.sourceIp' },
    ...{ method: '$context.httpMethod', path: '$context.path', status: '$context.status' },
    ...{ bytes: '$context.responseLength', ms: '$context.responseLatency', error: '$context.integrationErrorMessage' },
    // Why the gateway itself refused a token or a signature: the function, with its own log, was not invoked.
    authorizer_error: '$context.authorizer.error',
  }),
);

export interface GatewayProps {
  readonly stage: string;
  readonly choice: Exclude<ApiChoice, { mode: 'off' }>;
  readonly lambda: IFunction;
  /** What encrypts the access log; undefined for the keys of AWS. */
  readonly key?: IKey | undefined;
}

export interface Gateway {
  readonly apiId: string;
  readonly url: string;
  /** The name for which the DNS of a domain must have an alias or a CNAME record; undefined without a domain. */
  readonly domainTarget?: string;
}

/** Makes the gateway in front of the API's function. Without CORS: browsers block requests from other origins. */
export function makeGateway(scope: Construct, { stage, choice, lambda, key }: GatewayProps): Gateway {
  const { domain, rateLimit = REQUESTS_PER_SECOND, burstLimit = 2 * rateLimit, accessLog = true } = choice;
  const gateway = new HttpApi(scope, 'Gateway', {
    apiName: functionName(stage, 'api'),
    createDefaultStage: false,
    // Otherwise callers could pass by a firewall or a CDN that the domain points to.
    ...(domain && { disableExecuteApiEndpoint: true }),
  });
  addRoutes(gateway, lambda, authorizerOf(choice));
  const deployed = new HttpStage(scope, 'Stage', {
    httpApi: gateway,
    stageName: '$default',
    autoDeploy: true,
    throttle: { rateLimit, burstLimit },
    ...(accessLog && {
      accessLogSettings: { destination: new LogGroupLogDestination(newLog(scope, stage, key)), format: ACCESS_LOG },
    }),
  });
  if (!accessLog) acknowledge(deployed, 'APIG1', 'The setting apiAccessLog switches the log off.');
  const { apiId } = gateway;
  return { apiId, ...(domain ? addDomain(scope, domain, deployed) : { url: deployed.url }) };
}

function authorizerOf(choice: GatewayProps['choice']): IHttpRouteAuthorizer | undefined {
  if (choice.mode === 'iam') return new HttpIamAuthorizer();
  if (choice.mode !== 'jwt' || verifiesTokens(choice)) return undefined;
  return new HttpJwtAuthorizer('Tokens', choice.issuer, { jwtAudience: [choice.audience] });
}

function addRoutes(gateway: HttpApi, lambda: IFunction, authorizer: IHttpRouteAuthorizer | undefined): void {
  // One permission for all routes, in place of one for each.
  const integration = new HttpLambdaIntegration('Function', lambda, { scopePermissionToRoute: false });
  const add = (path: string, by: IHttpRouteAuthorizer | undefined) =>
    gateway.addRoutes({ path, methods: [HttpMethod.ANY], integration, ...(by && { authorizer: by }) });
  for (const path of ['/', '/{proxy+}']) add(path, authorizer);
  if (authorizer) for (const path of OPEN_PATHS) add(path, new HttpNoneAuthorizer());
  const reason = authorizer
    ? 'These routes show health and documentation, without data.'
    : 'The function authenticates every request except those for its health and its OpenAPI document.';
  acknowledge(gateway, 'APIG4', reason);
}

function newLog(scope: Construct, stage: string, key: IKey | undefined): LogGroup {
  return new LogGroup(scope, 'AccessLogs', {
    logGroupName: `/aws/apigateway/${functionName(stage, 'api')}`,
    retention: RetentionDays.ONE_MONTH,
    removalPolicy: RemovalPolicy.DESTROY,
    ...(key && { encryptionKey: key }),
  });
}

function addDomain(
  scope: Construct,
  { name, certificate }: NonNullable<ApiFront['domain']>,
  stage: HttpStage,
): Omit<Gateway, 'apiId'> {
  const domainName = new DomainName(scope, 'Domain', {
    domainName: name,
    certificate: Certificate.fromCertificateArn(scope, 'Certificate', certificate),
  });
  new ApiMapping(scope, 'Mapping', { api: stage.api, domainName, stage });
  return { url: `https://${name}/`, domainTarget: domainName.regionalDomainName };
}
