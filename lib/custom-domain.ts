import { DomainName, EndpointType, type RestApi, SecurityPolicy } from 'aws-cdk-lib/aws-apigateway';
import { Certificate } from 'aws-cdk-lib/aws-certificatemanager';
import { Construct } from 'constructs';

export type CustomDomainProps = { restApi: RestApi; name: string; certificateArn: string };

/** A name of the operator's own, without the stage in its paths. The DNS record is the operator's. */
export class CustomDomain extends Construct {
  readonly domain: DomainName;

  constructor(scope: Construct, id: string, props: CustomDomainProps) {
    super(scope, id);
    const { restApi, name, certificateArn } = props;
    this.domain = new DomainName(this, 'Name', {
      domainName: name,
      certificate: Certificate.fromCertificateArn(this, 'Certificate', certificateArn),
      endpointType: EndpointType.REGIONAL,
      securityPolicy: SecurityPolicy.TLS_1_2,
    });
    this.domain.addBasePathMapping(restApi);
  }
}
