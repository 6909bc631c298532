import { PolicyStatement } from 'aws-cdk-lib/aws-iam';
import { Construct } from 'constructs';
import { functionName, OWN_FUNCTIONS } from '../../core/handler/naming.ts';
import { apiBundle } from '../bundle/bundle-function.ts';
import type { HandlerPlan } from '../plan/handler-plan.ts';
import { type ApiChoice, type JwtChoice, verifiesTokens } from '../settings/api-settings.ts';
import { DeployedFunction, type FunctionSurroundings } from './deployed-function.ts';
import { makeGateway } from './gateway.ts';

export interface ApiProps extends FunctionSurroundings {
  readonly choice: Exclude<ApiChoice, { mode: 'off' }>;
  /** The handlers whose payloads the API validates. */
  readonly plans: readonly HandlerPlan[];
  /** The dispatcher, which the API invokes after an enqueue. */
  readonly dispatcher: DeployedFunction;
  readonly version: string;
  readonly reservedConcurrency: number | undefined;
}

/** The HTTP API: a gateway and its function. */
export class Api extends Construct {
  readonly function: DeployedFunction;
  readonly url: string;
  /** What the DNS record of `domain` must point to. */
  readonly domainTarget: string | undefined;
  readonly apiId: string;

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
    const gateway = makeGateway(this, { stage: rest.stage, choice, lambda: this.function.lambda, key: rest.key });
    this.url = gateway.url;
    this.apiId = gateway.apiId;
    this.domainTarget = gateway.domainTarget;
  }
}

function authentication(choice: ApiProps['choice']): Record<string, string> {
  const mode = { MILLRACE_API_AUTH: choice.mode };
  switch (choice.mode) {
    case 'iam':
      return { ...mode, MILLRACE_API_IAM_SCOPES: choice.scopes };
    case 'jwt':
      return tokens(choice);
    case 'api-key':
      return mode;
  }
}

function tokens(choice: JwtChoice): Record<string, string> {
  const { issuer, audience, jwks, algorithms } = choice;
  return {
    MILLRACE_API_AUTH: verifiesTokens(choice) ? 'jwt' : 'gateway-jwt',
    MILLRACE_API_JWT_ISSUER: issuer,
    MILLRACE_API_JWT_AUDIENCE: audience,
    ...(jwks !== undefined && { MILLRACE_API_JWT_JWKS: jwks }),
    ...(algorithms !== undefined && { MILLRACE_API_JWT_ALGORITHMS: algorithms }),
  };
}
