import { readFileSync } from 'node:fs';
import { createApp } from './server.ts';

// In production, the address of the database in which Millrace is installed. Here, that of `millrace dev`.
process.env.DATABASE_URL ??= JSON.parse(readFileSync('.millrace/dev.json', 'utf8')).databaseUrl;

createApp().listen(3001, '127.0.0.1');
