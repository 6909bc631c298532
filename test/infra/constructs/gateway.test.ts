import { App, Stack } from 'aws-cdk-lib';
import { Match, Template } from 'aws-cdk-lib/assertions';
import { Code, Function as LambdaFunction, Runtime } from 'aws-cdk-lib/aws-lambda';
import { describe, expect, it } from 'vitest';
import { ROUTES } from '../../../api/routes.ts';
import { OPEN_PATHS } from '../../../core/access/scopes.ts';
import { type GatewayProps, makeGateway } from '../../../infra/constructs/gateway.ts';

const IAM = { mode: 'iam', scopes: '{"arn:*": ["viewer"]}' } as const;
const JWT = { mode: 'jwt', issuer: 'https://login.example.com/', audience: 'jobs' } as const;

function make(choice: GatewayProps['choice']) {
  const stack = new Stack(new App(), 'Shop');
  const inline = { code: Code.fromInline('//'), handler: 'index.handler', runtime: Runtime.NODEJS_24_X };
  const gateway = makeGateway(stack, { stage: 'shop', choice, lambda: new LambdaFunction(stack, 'Function', inline) });
  const template = Template.fromStack(stack);
  const types = Object.values(template.findResources('AWS::ApiGatewayV2::Route')).map(
    ({ Properties: { RouteKey, AuthorizationType } }) => [RouteKey as string, AuthorizationType as string] as const,
  );
  return { template, gateway, stack, routes: Object.fromEntries(types) };
}

describe('the routes of the gateway', () => {
  it('has a path without an authorizer for each operation that requires no scope', () => {
    const open = ROUTES.filter(({ scope }) => scope === 'none').map(({ path }) => path);

    expect(OPEN_PATHS.toSorted()).toEqual(open.toSorted());
  });

  it.each([
    ['AWS_IAM', IAM],
    ['JWT', JWT],
  ])('require %s, except for health and documentation', (type, choice) => {
    expect(make(choice).routes).toEqual({
      ...{ 'ANY /': type, 'ANY /{proxy+}': type },
      ...{ 'ANY /healthz': 'NONE', 'ANY /readyz': 'NONE', 'ANY /openapi.json': 'NONE', 'ANY /docs': 'NONE' },
    });
  });

  it.each([
    { mode: 'api-key' } as const,
    { ...JWT, jwks: 'https://login.example.com/keys' },
    { ...JWT, algorithms: 'ES256' },
  ])('have no authorizer if the function authenticates: %j', (choice) => {
    expect(make(choice).routes).toEqual({ 'ANY /': 'NONE', 'ANY /{proxy+}': 'NONE' });
  });

  it('share one permission to invoke the function', () => {
    make(IAM).template.resourceCountIs('AWS::Lambda::Permission', 1);
  });
});

it('verifies tokens of the issuer and the audience', () => {
  make(JWT).template.hasResourceProperties('AWS::ApiGatewayV2::Authorizer', {
    AuthorizerType: 'JWT',
    IdentitySource: ['$request.header.Authorization'],
    JwtConfiguration: { Issuer: 'https://login.example.com/', Audience: ['jobs'] },
  });
});

describe('the front of the gateway', () => {
  it('has the limits of the settings; the burst is twice the rate by default', () => {
    const limits = (ThrottlingRateLimit: number, ThrottlingBurstLimit: number) => ({
      DefaultRouteSettings: { ThrottlingRateLimit, ThrottlingBurstLimit },
    });

    make({ mode: 'api-key', rateLimit: 7 }).template.hasResourceProperties('AWS::ApiGatewayV2::Stage', limits(7, 14));
    make({ mode: 'api-key', rateLimit: 7, burstLimit: 9 }).template.hasResourceProperties(
      'AWS::ApiGatewayV2::Stage',
      limits(7, 9),
    );
  });

  it('logs why the gateway refused a request, or nothing', () => {
    make({ mode: 'api-key' }).template.hasResourceProperties('AWS::ApiGatewayV2::Stage', {
      AccessLogSettings: { Format: Match.stringLikeRegexp('"authorizer_error":"\\$context.authorizer.error"') },
    });
    const { template } = make({ mode: 'api-key', accessLog: false });
    template.hasResourceProperties('AWS::ApiGatewayV2::Stage', { AccessLogSettings: Match.absent() });
    template.resourceCountIs('AWS::Logs::LogGroup', 0);
  });

  it('serves the domain only, with its certificate', () => {
    const certificate = 'arn:aws:acm:eu-central-1:123456789012:certificate/0123-4567';
    const { template, gateway, stack } = make({
      mode: 'api-key',
      domain: { name: 'jobs.example.com', certificate },
    });

    template.hasResourceProperties('AWS::ApiGatewayV2::DomainName', {
      DomainName: 'jobs.example.com',
      DomainNameConfigurations: [{ CertificateArn: certificate, EndpointType: 'REGIONAL' }],
    });
    template.hasResourceProperties('AWS::ApiGatewayV2::ApiMapping', { Stage: '$default' });
    template.hasResourceProperties('AWS::ApiGatewayV2::Api', { DisableExecuteApiEndpoint: true });
    expect(gateway.url).toBe('https://jobs.example.com/');
    expect(stack.resolve(gateway.domainTarget)).toEqual({
      'Fn::GetAtt': [expect.stringMatching(/^Domain/), 'RegionalDomainName'],
    });
  });
});
