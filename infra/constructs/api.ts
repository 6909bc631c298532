import { RemovalPolicy } from 'aws-cdk-lib';
import { AccessLogFormat } from 'aws-cdk-lib/aws-apigateway';
import { HttpApi, HttpMethod, HttpStage, LogGroupLogDestination } from 'aws-cdk-lib/aws-apigatewayv2';
import { HttpIamAuthorizer } from 'aws-cdk-lib/aws-apigatewayv2-authorizers';
import { HttpLambdaIntegration } from 'aws-cdk-lib/aws-apigatewayv2-integrations';
import { PolicyStatement } from 'aws-cdk-lib/aws-iam';
import { LogGroup, RetentionDays } from 'aws-cdk-lib/aws-logs';
import { Construct } from 'constructs';
import { functionName, OWN_FUNCTIONS } from '../../core/handler/naming.ts';
import { apiBundle } from '../bundle/bundle-function.ts';
import type { HandlerPlan } from '../plan/handler-plan.ts';
import type { ApiChoice } from '../settings/api-settings.ts';
import { acknowledge } from './acknowledge.ts';
import { DeployedFunction, type FunctionSurroundings } from './deployed-function.ts';

export interface ApiProps extends FunctionSurroundings {
  readonly choice: Exclude<ApiChoice, { mode: 'off' }>;
  /** The handlers whose payloads the API validates. */
  readonly plans: readonly HandlerPlan[];
  /** The dispatcher, which the API invokes after an enqueue. */
  readonly dispatcher: DeployedFunction;
  readonly version: string;
  readonly reservedConcurrency?: number;
}

const REQUESTS_PER_SECOND = 100;
const BURST = 200;

// The default format contains the resource path, which an HTTP API lacks.
const ACCESS_LOG = AccessLogFormat.custom(
  JSON.stringify({
    ...{ request_id: '$context.requestId', time: '$context.requestTime', ip: '$context.identity.sourceIp' },
    ...{ method: '$context.httpMethod', path: '$context.path', status: '$context.status' },
    ...{ bytes: '$context.responseLength', ms: '$context.responseLatency', error: '$context.integrationErrorMessage' },
  }),
);

/** The HTTP API: a gateway and its function. */
export class Api extends Construct {
  readonly function: DeployedFunction;
  readonly url: string;

  constructor(scope: Construct, id: string, { choice, plans, dispatcher, version, ...rest }: ApiProps) {
    super(scope, id);
    const dispatcherName = dispatcher.lambda.functionName;
    this.function = new DeployedFunction(this, 'Function', {
      ...rest,
      name: functionName(rest.stage, 'api'),
      bundle: apiBundle(plans),
      ...OWN_FUNCTIONS.api,
      login: rest.database.runtime,
      environment: {
        ...authentication(choice),
        MILLRACE_DISPATCHER_FUNCTION: dispatcherName,
        MILLRACE_VERSION: version,
      },
    });
    this.function.lambda.addToRolePolicy(
      // Not a grant, which would cover every version of the function with a wildcard.
      new PolicyStatement({ actions: ['lambda:InvokeFunction'], resources: [dispatcher.lambda.functionArn] }),
    );
    this.url = this.makeGateway(rest.stage, choice.mode);
  }

  /** Without CORS: browsers block requests from other origins. */
  private makeGateway(stage: string, mode: ApiProps['choice']['mode']): string {
    const gateway = new HttpApi(this, 'Gateway', { apiName: functionName(stage, 'api'), createDefaultStage: false });
    const integration = new HttpLambdaIntegration('Function', this.function.lambda);
    const authorizer = mode === 'iam' ? { authorizer: new HttpIamAuthorizer() } : {};
    for (const path of ['/', '/{proxy+}']) {
      gateway.addRoutes({ path, methods: [HttpMethod.ANY], integration, ...authorizer });
    }
    const reason = 'The function authenticates every request except those for its health and its OpenAPI document.';
    if (mode !== 'iam') acknowledge(gateway, 'APIG4', reason);
    const logGroup = new LogGroup(this, 'AccessLogs', {
      logGroupName: `/aws/apigateway/${functionName(stage, 'api')}`,
      retention: RetentionDays.ONE_MONTH,
      removalPolicy: RemovalPolicy.DESTROY,
    });
    const deployed = new HttpStage(this, 'Stage', {
      httpApi: gateway,
      stageName: '$default',
      autoDeploy: true,
      throttle: { rateLimit: REQUESTS_PER_SECOND, burstLimit: BURST },
      accessLogSettings: { destination: new LogGroupLogDestination(logGroup), format: ACCESS_LOG },
    });
    return deployed.url;
  }
}

function authentication(choice: ApiProps['choice']): Record<string, string> {
  const mode = { MILLRACE_API_AUTH: choice.mode };
  switch (choice.mode) {
    case 'iam':
      return { ...mode, MILLRACE_API_IAM_SCOPES: choice.scopes };
    case 'jwt':
      return { ...mode, MILLRACE_API_JWT_ISSUER: choice.issuer, MILLRACE_API_JWT_AUDIENCE: choice.audience };
    case 'api-key':
      return mode;
  }
}
