// TypeScript of the API's documents: node tools/types.mjs < openapi.json > src/lib/api.ts
// The OpenAPI document comes from a controller: curl http://127.0.0.1:5000/api/v1/openapi.json
import { readFileSync } from 'node:fs';

const indent = (text) => text.replace(/\n/g, '\n  ');
const keyOf = (name) => (/^[A-Za-z_]\w*$/.test(name) ? name : `'${name}'`);

function objectOf({ properties, required = [], additionalProperties }) {
  if (!properties) {
    const each = typeof additionalProperties === 'object' ? typeOf(additionalProperties) : 'unknown';
    return `{ [key: string]: ${each} }`;
  }
  const lines = Object.entries(properties).map(
    ([name, schema]) => `${keyOf(name)}${required.includes(name) ? '' : '?'}: ${indent(typeOf(schema))};`
  );
  return lines.length === 0 ? '{ [key: string]: never }' : `{\n  ${lines.join('\n  ')}\n}`;
}

const simple = { string: 'string', integer: 'number', number: 'number', boolean: 'boolean', null: 'null' };

function oneOf(type, schema) {
  if (type === 'object') return objectOf(schema);
  if (type === 'array') {
    const items = schema.items ?? {};
    const isUnion = items.anyOf || items.oneOf || items.enum || [items.type].flat().length > 1;
    return isUnion ? `(${typeOf(items)})[]` : `${typeOf(items)}[]`;
  }
  return simple[type] ?? 'unknown';
}

function typeOf(schema) {
  if (schema.$ref) return schema.$ref.split('/').at(-1);
  if (schema.enum) return schema.enum.map((value) => JSON.stringify(value).replace(/"/g, "'")).join(' | ');
  const several = schema.anyOf ?? schema.oneOf;
  if (several) return [...new Set(several.map(typeOf))].join(' | ');
  if (!schema.type) return schema.properties ? objectOf(schema) : 'unknown';
  return [schema.type]
    .flat()
    .map((type) => oneOf(type, schema))
    .join(' | ');
}

const { components } = JSON.parse(readFileSync(0, 'utf8'));
const types = Object.entries(components.schemas)
  .sort(([a], [b]) => (a < b ? -1 : 1))
  .map(([name, schema]) => {
    const type = typeOf(schema);
    return type.startsWith('{') && type.endsWith('}') ? `export interface ${name} ${type}` : `export type ${name} = ${type};`;
  });
process.stdout.write(`// Made by tools/types.mjs from the OpenAPI document of the controller. Not to be edited.\n\n${types.join('\n\n')}\n`);
