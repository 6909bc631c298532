import { randomUUID } from 'node:crypto';
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { FunctionNotFoundError, type FunctionTable } from './function-table.ts';
import { ServiceError, toAnswer } from './invocation-result.ts';
import type { Mapping } from './mapping.ts';
import { parseJson } from './parse-json.ts';
import { assertAccessKey, readChange, readConcurrency, toConfiguration } from './wire.ts';

export interface ApiDeps {
  functions: FunctionTable;
  mappings: ReadonlyMap<string, Mapping>;
  /** The access key that requests must carry. */
  accessKeyId: string;
}

interface Call {
  deps: ApiDeps;
  /** The identifier in the path: of a function or of a mapping. */
  id: string;
  query: URLSearchParams;
  headers: IncomingMessage['headers'];
  body: string;
  requestId: string;
}

interface Answer {
  status: number;
  /** JSON text. */
  body?: string;
  headers?: Record<string, string>;
}

type Route = [method: string, path: RegExp, run: (call: Call) => Answer | Promise<Answer>];

const ROUTES: Route[] = [
  ['POST', /^\/2015-03-31\/functions\/([^/]+)\/invocations$/, invoke],
  ['GET', /^\/2015-03-31\/functions\/([^/]+)$/, getFunction],
  ['GET', /^\/2015-03-31\/functions\/([^/]+)\/configuration$/, getConfiguration],
  ['GET', /^\/2015-03-31\/functions\/?()$/, listFunctions],
  ['PUT', /^\/2017-10-31\/functions\/([^/]+)\/concurrency$/, putConcurrency],
  ['GET', /^\/2019-09-30\/functions\/([^/]+)\/concurrency$/, getConcurrency],
  ['DELETE', /^\/2017-10-31\/functions\/([^/]+)\/concurrency$/, deleteConcurrency],
  ['GET', /^\/2015-03-31\/event-source-mappings\/?()$/, listMappings],
  ['GET', /^\/2015-03-31\/event-source-mappings\/([^/]+)$/, getMapping],
  ['PUT', /^\/2015-03-31\/event-source-mappings\/([^/]+)$/, updateMapping],
];

/** Serves the part of Lambda's HTTP API that invokes functions and manages event source mappings. */
export function answerApi(deps: ApiDeps): RequestListener {
  return (request, response) => {
    const requestId = randomUUID();
    answer(deps, request, requestId)
      .catch(toErrorAnswer)
      .then((result) => send(response, result, requestId))
      .catch(() => response.destroy());
  };
}

async function answer(deps: ApiDeps, request: IncomingMessage, requestId: string): Promise<Answer> {
  assertAccessKey(request.headers.authorization, deps.accessKeyId);
  const { pathname, searchParams: query } = new URL(request.url ?? '/', 'http://lambda');
  request.setEncoding('utf8');
  let body = '';
  for await (const chunk of request) body += chunk;
  for (const [method, path, run] of ROUTES) {
    const id = request.method === method ? path.exec(pathname)?.[1] : undefined;
    if (id !== undefined) {
      return run({ deps, id: decodeURIComponent(id), query, headers: request.headers, body, requestId });
    }
  }
  throw new ServiceError(404, 'UnknownOperationException', `no such operation: ${request.method} ${pathname}`);
}

function toErrorAnswer(error: unknown): Answer {
  const { status, code, message } =
    error instanceof FunctionNotFoundError
      ? new ServiceError(404, 'ResourceNotFoundException', error.message)
      : error instanceof ServiceError
        ? error
        : new ServiceError(500, 'ServiceException', String(error));
  const Type = status < 500 ? 'User' : 'Server';
  return { status, headers: { 'x-amzn-ErrorType': code }, body: JSON.stringify({ Type, Message: message }) };
}

function send(response: ServerResponse, { status, headers, body }: Answer, requestId: string): void {
  response.writeHead(status, { 'Content-Type': 'application/json', 'x-amzn-RequestId': requestId, ...headers });
  response.end(body);
}

async function invoke({ deps, id, headers, body, requestId }: Call): Promise<Answer> {
  const name = functionName(id);
  const payload = body === '' ? '{}' : body;
  const type = headers['x-amz-invocation-type'] ?? 'RequestResponse';
  deps.functions.get(name);
  if (parseJson(payload) === undefined) {
    throw new ServiceError(400, 'InvalidRequestContentException', 'Could not parse request body into json');
  }
  if (type === 'DryRun') return { status: 204 };
  if (type === 'Event') {
    deps.functions.invokeLater(name, payload, requestId);
    return { status: 202 };
  }
  if (type !== 'RequestResponse') {
    throw new ServiceError(400, 'InvalidParameterValueException', `InvocationType ${type} is unknown`);
  }
  const { payload: answerBody, functionError } = toAnswer(await deps.functions.invoke(name, payload, requestId));
  const executed = { 'X-Amz-Executed-Version': '$LATEST' };
  return {
    status: 200,
    headers: { ...executed, ...(functionError && { 'X-Amz-Function-Error': functionError }) },
    body: answerBody,
  };
}

function getFunction({ deps, id }: Call): Answer {
  return json({ Configuration: functionConfiguration(deps, functionName(id)) });
}

function getConfiguration({ deps, id }: Call): Answer {
  return json(functionConfiguration(deps, functionName(id)));
}

function listFunctions({ deps }: Call): Answer {
  return json({ Functions: deps.functions.list().map(({ name }) => functionConfiguration(deps, name)) });
}

function functionConfiguration({ functions }: ApiDeps, name: string): Record<string, unknown> {
  const { timeoutSeconds, memoryMb, environment } = functions.get(name);
  return {
    FunctionName: name,
    FunctionArn: functions.arn(name),
    Runtime: 'nodejs24.x',
    Handler: 'index.handler',
    Timeout: timeoutSeconds,
    MemorySize: memoryMb,
    Environment: { Variables: environment },
    State: 'Active',
    Version: '$LATEST',
  };
}

/** Zero stops the function: messages that a mapping has received return to the queue when their visibility ends. */
function putConcurrency({ deps, id, body }: Call): Answer {
  const name = functionName(id);
  deps.functions.reserve(name, readConcurrency(body));
  return getConcurrency({ deps, id });
}

function getConcurrency({ deps, id }: Pick<Call, 'deps' | 'id'>): Answer {
  return json({ ReservedConcurrentExecutions: deps.functions.reservedConcurrency(functionName(id)) });
}

function deleteConcurrency({ deps, id }: Call): Answer {
  deps.functions.reserve(functionName(id), undefined);
  return { status: 204 };
}

function listMappings({ deps, query }: Call): Answer {
  const name = query.get('FunctionName');
  const arn = query.get('EventSourceArn');
  const found = [...deps.mappings.values()].filter(
    ({ spec }) =>
      (name === null || spec.functionName === functionName(name)) && (arn === null || spec.queueArn === arn),
  );
  return json({ EventSourceMappings: found.map((mapping) => configuration(deps, mapping)) });
}

function getMapping({ deps, id }: Call): Answer {
  return json(configuration(deps, findMapping(deps, id)));
}

function updateMapping({ deps, id, body }: Call): Answer {
  const mapping = findMapping(deps, id);
  const state = mapping.update(readChange(body, mapping.spec));
  return { ...json({ ...configuration(deps, mapping), State: state }), status: 202 };
}

function configuration({ functions }: ApiDeps, mapping: Mapping): Record<string, unknown> {
  return toConfiguration(mapping, functions.arn(mapping.spec.functionName));
}

function findMapping({ mappings }: ApiDeps, uuid: string): Mapping {
  const mapping = mappings.get(uuid);
  if (!mapping) {
    throw new ServiceError(404, 'ResourceNotFoundException', 'The resource you requested does not exist.');
  }
  return mapping;
}

/** Reads a name, `name:$LATEST`, a partial or a full ARN. */
function functionName(id: string): string {
  return /(?:^|function:)([^:]+)(?::\$LATEST)?$/.exec(id)?.[1] ?? id;
}

function json(value: unknown): Answer {
  return { status: 200, body: JSON.stringify(value) };
}
