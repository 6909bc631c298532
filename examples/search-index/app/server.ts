import { createServer, type IncomingMessage, type Server } from 'node:http';
import { text } from 'node:stream/consumers';
import { connect } from '../src/backend.ts';
import { searchKeywords } from '../src/keyword-index.ts';
import { searchVectors } from '../src/vector-index.ts';
import { saveRecord } from './save-record.ts';

/** Returns the server of `POST /records`, `GET /search/keyword?q=` and `GET /search/vector?q=`. */
export function createApp(): Server {
  return createServer(async (request, response) => {
    try {
      const answer = await run(request);
      response.writeHead(answer === undefined ? 404 : 200).end(`${JSON.stringify(answer ?? 'not found')}\n`);
    } catch (error) {
      console.error(error);
      response.writeHead(500).end();
    }
  });
}

async function run(request: IncomingMessage): Promise<object | undefined> {
  const { pathname, searchParams } = new URL(request.url ?? '/', 'http://localhost');
  const words = searchParams.get('q') ?? '';
  switch (`${request.method} ${pathname}`) {
    case 'POST /records':
      return saveRecord(connect('records'), JSON.parse(await text(request)));
    case 'GET /search/keyword':
      return searchKeywords(words);
    case 'GET /search/vector':
      return searchVectors(words);
    default:
      return undefined;
  }
}
