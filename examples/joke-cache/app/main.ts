import { readFileSync } from 'node:fs';
import { listen, startJokeServer } from './joke-server.ts';
import { createApp } from './tasks.ts';

// Where API_BASE_URL of .env points.
const jokes = await startJokeServer(8391);
// Of the stack that `npm run dev` runs in this folder; elsewhere, set both.
const { MILLRACE_API_URL: url = JSON.parse(readFileSync('.millrace/dev.json', 'utf8')).apiUrl } = process.env;
const app = await listen(createApp({ url, key: process.env.MILLRACE_API_KEY ?? 'local' }), 8390);
console.log(`jokes: ${jokes.url}/joke\napp: ${app}`);
